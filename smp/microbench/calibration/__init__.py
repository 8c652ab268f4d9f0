"""The kernels' libraries, measured and kept."""
