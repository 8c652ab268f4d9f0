"""The fast forms of argsort: the order of keys is sorted out by their images, packed with their places, or by parts."""
