"""The version of smp, which the package and its files name."""

VERSION = "0.1.0"
