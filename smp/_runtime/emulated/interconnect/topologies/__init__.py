"""Topologies: how nodes, switches and links are laid out, and which way a packet takes."""
