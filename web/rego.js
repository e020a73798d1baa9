// Rego for CodeMirror: enough to color it. The server decides what is valid.
// https://www.openpolicyagent.org/docs/latest/policy-reference/#grammar
import { StreamLanguage } from "@codemirror/language";

const KEYWORDS = new Set("as contains default else every false if import in not null package some true with".split(" "));

export const rego = StreamLanguage.define({
  name: "rego",
  startState: () => ({ isRaw: false }),
  token(stream, state) {
    if (state.isRaw) {
      state.isRaw = !stream.skipTo("`");
      if (state.isRaw) stream.skipToEnd();
      else stream.next();
      return "string";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.eat("`")) {
      state.isRaw = true;
      return "string";
    }
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (word) return KEYWORDS.has(word[0]) ? "keyword" : word[0] === "input" || word[0] === "data" ? "atom" : null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});
