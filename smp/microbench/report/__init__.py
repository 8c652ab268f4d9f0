"""The whole report: a first screen of answers, all sections, and all plots."""
