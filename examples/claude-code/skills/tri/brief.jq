# What a decision needs of a record of `tri-approve show ID --json`, short. Text
# that others wrote is kept on its line and from steering a terminal.
# Q the question, | the draft, E evidence, ! what is wrong, V the validator, N a note.
def flat: tostring | gsub("[\\p{Cc}\\p{Cf}\\s]+"; " ");
.id as $id
| def cut(n): if length > n then .[:n] + " [cut: tri-approve show \($id) has all]" else . end;
"\(.kind) \($id) --sha \(.draft_sha256[:12]) \(.chat_name | flat), asked by \(.who | flat | cut(40))\(if .badge then ", " + (.badge | flat) else "" end)",
"Q: \(.question | flat | cut(300))",
((.draft // "") | cut(1500) | split("\n")[] | "| " + flat),
((.evidence // [])[:3][] | "E: \(.ref | flat | .[:100]) [\(.result)] \(.claim | flat | .[:70])\(if .changed then " changed: " + (.changed | flat | cut(80)) else "" end)"),
(if ((.evidence // []) | length) > 3 then "E: \((.evidence | length) - 3) more" else empty end),
((.problems // [])[:3][] | "!: \(flat | cut(160))"),
((.thread.validator_return.reasons // [])[:3][] | "V: \(flat | cut(160))"),
(if (.note // "") != "" then "N: \(.note | flat | cut(200))" else empty end)
