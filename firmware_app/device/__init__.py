"""The thing on the shelf: boards, and their lights, buttons and mixers."""
