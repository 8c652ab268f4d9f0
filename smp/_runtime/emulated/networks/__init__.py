"""The networks that carry the messages of an emulated machine."""
