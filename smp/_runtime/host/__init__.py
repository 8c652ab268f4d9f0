"""The host machine: processes of this computer as processors."""
