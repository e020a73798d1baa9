"""Streams a completion with Anthropic's SDK, which reads ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY."""

from anthropic import Anthropic


def main() -> None:
    client = Anthropic()
    with client.messages.stream(
        model="claude-haiku-4-5", max_tokens=100, messages=[{"role": "user", "content": "Say hello."}]
    ) as stream:
        for text in stream.text_stream:
            print(text, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
