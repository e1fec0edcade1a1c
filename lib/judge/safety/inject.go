package safety

import (
	"slices"
	"strings"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// orders match the ways in which a text instructs its reader, an agent or a program, about the text
// itself. An explanation of code to a colleague contains none.
var orders = Compile(
	// to ignore earlier instructions
	`\b(?:ignore|disregard|forget|override|bypass|overlook)\b[^.\n]{0,40}\b(?:instructions?|rules?|rubrics?|prompts?|guidelines?|directives?|(?:were|been) told|training|constraints)\b`,
	`\bnew (?:instructions?|task|orders)\s*:`,
	`\b(?:your|the) (?:real|actual|true|new) (?:task|job|instructions?|goal) (?:is|are)\b`,
	`\bfrom now on,? you\b`, `\byou are now\b`,
	`\b(?:hidden|secret|begin|end) (?:hidden |secret )?prompt\b`,
	`\b(?:maintenance|developer|debug|god|jailbreak|admin) mode\b[^.\n]{0,40}\b(?:approve|enabled?|on|you)\b|\byou(?:'re| are)\b[^.\n]{0,20}\b(?:maintenance|developer|god|jailbreak|unrestricted) mode\b`,
	// to a reviewer
	`\b(?:reviewers?|validators?|review(?:ing)? (?:model|agent|ai)|(?:to|dear|note to|hey|attention) (?:the |any )?(?:ai|llm|model|assistant|agent|reviewer|validator))\b[^.\n]{0,60}\b(?:must|should|shall|treat|mark|do not|don't|reading)\b`,
	`\b(?:reviewer|validator|(?:reviewing|dear) (?:model|agent|ai))\s*[,:]\s*[^.\n]{0,40}\b(?:accept|approve|pass|skip|output|answer|reply|respond)\b`,
	`\b(?:reply|answer|respond|output|return|say)\b[^.\n]{0,40}\bverdict\b`,
	`["']?verdict["']?\s*[:=]\s*["']?(?:pass|ok|approved)\b`,
	`\balways (?:answer|reply|say|return|output) (?:with )?(?:pass|yes|approved)\b`,
	`\breply only with\b`,
	`\b(?:mark|treat|label|count) (?:this|it|that|them|all|everything)\b[^.\n]{0,40}\b(?:as )?(?:supports?|supported|verified|valid|pass(?:ed)?|approved|safe|correct|trusted)\b`,
	`\bapprove (?:this|the|that|it|all|everything|any)\b[^.\n]{0,20}\b(?:draft|reply|answer|immediately|now|without|everything)?`, `\bpre-?approved\b`, `\b(?:has|have) (?:been )?(?:authori[sz]ed|approved) (?:this|by)\b`,
	`\b(?:skip|disable|turn off|suspend)\b[^.\n]{0,20}\b(?:validation|verification|review|the checks|fact.?check\w*|approval)\b|\bvalidation\s*:\s*(?:disabled|off|skip)`,
	`\b(?:do not|don't|never|must not|need not)\b[^.\n]{0,30}\b(?:check|verify|validate|question|read|open)\b[^.\n]{0,20}\b(?:references?|citations?|evidence|sources?|files?|draft)\b`,
	`\b(?:do not|don't|must not|never)\b[^.\n]{0,20}\b(?:report|mention|flag|list)\b[^.\n]{0,20}\b(?:problems?|issues?|faults?|errors?)\b`,
	`\b(?:do not|don't|without) (?:ask|asking|wait|waiting)\b[^.\n]{0,20}\bapproval\b`,
	`\bset (?:the )?confidence (?:to|=)`,
	`\bas (?:the|an?|your) (?:administrator|admin|operator|developer|owner)\b[^.\n]{0,30}\b(?:i|order|command|instruct)\b`,
	// to disclose or execute something
	`\b(?:send|print|reveal|post|leak|paste|dump|show|tell|share|email)\b[^.\n]{0,50}\b(?:system prompt|environment variables?|env vars|(?:api )?tokens?|passwords?|credentials|secrets?|private keys?|contents? of [\w./~-]*(?:config|\.env|secrets?|id_rsa)\S*)`,
	`\b(?:curl|wget)\b[^|\n]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b`,
	`\bpost (?:this|it) (?:to|in) (?:every|all)\b`,
	// markup of a model's own format
	`<\|[\w ]{1,20}\|>`, `\[/?(?:INST|SYS|SYSTEM)\]`, `<</?SYS>>`,
	`</?(?:system|return|question|instructions?|assistant|human|user|verdict|draft)>`,
	`\{\{/?\s*(?:system|user|assistant)\b`,
	`(?:^|\n)\s*(?:#+\s*)?(?:system|assistant|developer)\s*:`,
	// other languages
	`\b(?:abaikan|lupakan)\b[^.\n]{0,40}\b(?:instruksi|perintah|aturan)\b`,
	`\bsetujui (?:draf|jawaban|balasan|ini|semua)\b`,
	`\b(?:ignora|ignore|ignorez|olvida|desconsidere|oubliez?)\b[^.\n]{0,40}\b(?:instrucciones|instruções|instructions|reglas|regras|consignes|órdenes)`, `\b(?:aprueba|aprove|approuvez?)\b[^.\n]{0,20}\b(?:este|esta|ce|cette|borrador|rascunho|brouillon)\b`,
	`\b(?:ignoriere?n?|vergiss)\b[^.\n]{0,40}\b(?:anweisung|regel|vorgabe)`,
	`(?:игнорируй|забудь)[^.\n]{0,40}(?:инструкц|правил|указан)`,
	`\bbỏ qua\b[^.\n]{0,40}(?:hướng dẫn|chỉ dẫn|quy tắc)`,
	`(?:指示|命令|ルール|プロンプト)[^。\n]{0,10}(?:無視|忘れ)`, `承認して(?:ください|下さい)`,
	`(?:忽略|无视|無視|忘记|忘掉)[^。\n]{0,20}(?:指令|指示|说明|規則|规则|提示)`, `(?:지시|명령|규칙)[^.\n]{0,10}무시`,
	`(?:تجاهل)[^.\n]{0,40}(?:التعليمات|الأوامر)`, `(?:निर्देश|आदेश)[^।\n]{0,20}(?:अनदेखा|नज़रअंदाज़)`,
	`(?:เพิกเฉย|ละเว้น)[^\n]{0,20}(?:คำสั่ง|คำแนะนำ)`,
)

// Injected lists the parts of a text that are instructions to its next reader, an agent or a program,
// rather than an answer.
func Injected(text string, s Sources) []string {
	text = OwnWords(text, s, true)
	for _, t := range s.Texts {
		if q := strings.TrimSpace(t); len(q) > 20 {
			text = strings.ReplaceAll(text, q, " ") // a repeated question is the asker's text
		}
	}
	return Matches(orders, text)
}

// Compile returns a case-insensitive pattern for each expression.
func Compile(exprs ...string) []*lazyregexp.Pattern {
	out := make([]*lazyregexp.Pattern, len(exprs))
	for i, e := range exprs {
		out[i] = lazyregexp.New(`(?i)` + e)
	}
	return out
}

// Matches lists what each pattern finds in text, without duplicates, short enough for a note.
func Matches(res []*lazyregexp.Pattern, body string) []string {
	var found []string
	for _, re := range res {
		if m := re.FindString(body); m != "" {
			m = `"` + text.Line(strings.Join(strings.Fields(m), " "), 40) + `"`
			if !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	return found
}
