"""Version of smp, as it appears in the package and in its files."""

VERSION = "0.1.0"
