"""placeholder"""


def reword(text: str, seed: int) -> str:
    return text
