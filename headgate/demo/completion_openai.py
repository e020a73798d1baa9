"""Streams a completion with OpenAI's SDK, which reads OPENAI_BASE_URL and OPENAI_API_KEY."""

from openai import OpenAI


def main() -> None:
    client = OpenAI()
    stream = client.chat.completions.create(
        model="gpt-5-mini", messages=[{"role": "user", "content": "Say hello."}], stream=True
    )
    for chunk in stream:
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
