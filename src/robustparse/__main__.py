"""``python -m robustparse COMMAND`` is ``robustparse COMMAND``."""

from robustparse.cli.main import main

if __name__ == "__main__":
    main()
