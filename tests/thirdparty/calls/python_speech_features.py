"""Features of speech: overlapping frames, power spectra, mel filter banks, cosine transforms."""

from __future__ import annotations

import numpy as np
import python_speech_features as psf
from python_speech_features import sigproc

from thirdparty.harness import Call

DISTRIBUTION = "python_speech_features"
FIELD = "signal processing"

SIGNAL = np.sin(np.arange(400) * 0.13) + 0.3 * np.random.default_rng(3).normal(size=400)
AUDIO = {"samplerate": 8000, "nfft": 256}


def overlap_added(signal: np.ndarray) -> np.ndarray:
    frames = sigproc.framesig(signal, 20, 10, np.hanning)
    return sigproc.deframesig(frames, len(signal), 20, 10, np.hanning)[10:-10]


CALLS = {
    "cepstrum": Call(lambda s: psf.mfcc(s, **AUDIO), SIGNAL),
    "log_energies": Call(lambda s: psf.logfbank(s, **AUDIO), SIGNAL),
    "centroids": Call(lambda s: psf.ssc(s, **AUDIO), SIGNAL),
    "differences": Call(lambda x: psf.delta(x, 2), SIGNAL[:30].reshape(6, 5)),
    "overlap_added": Call(overlap_added, SIGNAL),
    "log_spectrum": Call(lambda s: sigproc.logpowspec(s.reshape(4, 100), 128), SIGNAL),
    "preemphasis": Call(sigproc.preemphasis, SIGNAL[:20], 0.9),
}
