"""From measurements to a model: terms, least squares, the choice of terms, the calibrated model."""
