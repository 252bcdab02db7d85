"""Training of a wake word's head: voices, phrases, rooms, features, training, evaluation, card."""
