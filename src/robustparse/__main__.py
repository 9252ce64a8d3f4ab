"""``python -m robustparse``: the program."""

from robustparse.cli.main import main

if __name__ == "__main__":
    main()
