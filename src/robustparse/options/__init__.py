"""From the command line and YAML files to objects, under the rules of ``robustparse.trust``."""
