"""Features of whole recordings, equal to what the detector computes block by block.

The embedding model only convolves over time, so one run over a long spectrogram gives every
window's embedding at an eighth of the cost; the window length is loosened in the graph for it.
"""

from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]
from numpy.typing import NDArray

from firmware_app import models
from firmware_app.engines.wake import (
    CONTEXT,
    EMBEDDING,
    MEL_FRAMES,
    OVERLAP,
    STEP,
    WINDOW,
    FeatureModels,
)
from firmware_app.frames import Samples
from firmware_app.settings import Settings

Floats = NDArray[np.float32]
RUN = 400  # steps a run of the long model, so that memory stays small


def feature_folder() -> Path:
    """Where the feature models are. Raises EngineError when they are missing."""
    return models.find("openwakeword", "", Settings())


class LongFeatures:
    """Embeddings of whole recordings. folder: the two feature models; None finds them."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or feature_folder()
        self.models = FeatureModels(folder)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._long = ort.InferenceSession(
            _loosened(folder / "embedding_model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, samples: Samples) -> Floats:
        """Embeddings (CONTEXT - 1 + steps, EMBEDDING): those from CONTEXT - 1 on are the steps'.

        Those before are of the quiet room in which the detector begins.
        """
        steps = len(samples) // STEP
        padded = np.concatenate((np.zeros(OVERLAP, np.int16), samples[: steps * STEP]))
        mels = [self.models.mel(padded[i * STEP : (i + 1) * STEP + OVERLAP]) for i in range(steps)]
        mel = np.concatenate([self.models.quiet_mel, *mels])[MEL_FRAMES:]
        total = CONTEXT - 1 + steps
        out = []
        for first in range(0, total, RUN):
            count = min(RUN, total - first)
            begin = first * MEL_FRAMES
            part = mel[begin : begin + WINDOW + (count - 1) * MEL_FRAMES]
            (result,) = self._long.run(None, {"input_1": part[None, ..., None]})
            out.append(np.asarray(result, np.float32).reshape(EMBEDDING, -1).T[:count])
        return np.concatenate(out)


def windows(embeddings: Floats) -> Floats:
    """What a head sees at each step: (steps, CONTEXT, EMBEDDING), a view."""
    view = np.lib.stride_tricks.sliding_window_view(embeddings, CONTEXT, axis=0)
    return view.transpose(0, 2, 1)


@cache
def _loosened(path: Path) -> bytes:
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    first, last = (n for n in graph.node if n.op_type == "Reshape")
    for constant in graph.initializer:
        if constant.name == first.input[1]:
            shape = np.array([1, 1, -1, MEL_BANDS_PADDED], np.int64)
            constant.CopyFrom(numpy_helper.from_array(shape, constant.name))
    graph.node.remove(last)
    graph.input[0].type.tensor_type.shape.dim[1].dim_param = "frames"
    del graph.output[:]
    del graph.value_info[:]
    graph.output.append(onnx.ValueInfoProto(name=last.input[0]))
    return bytes(model.SerializeToString())


MEL_BANDS_PADDED = 34  # 32 bands and the graph's own padding
