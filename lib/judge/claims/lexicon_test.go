package claims

import (
	"strings"
	"testing"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// drafts are texts of one language: an over-confident one, one that hedges, one that smells, a risky one,
// and a clean one. No native reader has checked them.
var drafts = []struct{ lang, certain, guess, smell, risk, plain string }{
	{"en", "It is definitely 3.", "I guess it is 3.", "Great question! The limit is 3.",
		"deletion: Delete the old rows.",
		"The limit is 3, set in `MaxRetries`. The worker deletes rows older than a day and restarts by itself."},
	{"id", "Batasnya pasti 3.", "Saya tidak yakin, batasnya 3.", "Semoga membantu. Batasnya 3.",
		"deletion: Sebaiknya hapus data lama itu.",
		"Batasnya 3, diatur di `MaxRetries`. Worker menghapus baris yang lebih tua dari sehari."},
	{"ja", "上限は間違いなく3です。", "推測ですが、上限は3です。", "お役に立てれば幸いです。上限は3です。", "deletion: 古いデータを削除してください。",
		"上限は3で、`MaxRetries`で設定されています。ワーカーは一日より古い行を消去します。"},
	{"zh", "上限肯定是3。", "我不太确定，上限是3。", "希望对您有所帮助。上限是3。", "deletion: 您可以删除旧数据。",
		"上限是3，在`MaxRetries`中设置。工作进程会删除一天前的记录，请求失败时会重试。"},
	{"ko", "한도는 틀림없이 3입니다.", "추측입니다만 한도는 3입니다. 확신이 없습니다.", "좋은 질문입니다. 한도는 3입니다.",
		"deletion: 오래된 데이터를 삭제해 주세요.",
		"한도는 3이며 `MaxRetries`에서 설정합니다. 워커가 하루 지난 레코드를 삭제합니다."},
	{"es", "El límite es definitivamente 3.", "No estoy seguro, el límite es 3.",
		"Excelente pregunta. El límite es 3.", "deletion: Debes borrar los datos antiguos.",
		"El límite es 3 y se fija en `MaxRetries`. El proceso borra las filas de más de un día."},
	{"pt", "O limite é com certeza 3.", "Não tenho certeza, o limite é 3.",
		"Espero ter ajudado. O limite é 3.", "deletion: Você deve apagar os dados antigos.",
		"O limite é 3, definido em `MaxRetries`. O processo apaga linhas com mais de um dia."},
	{"de", "Das Limit ist definitiv 3.", "Ich bin nicht sicher, das Limit ist 3.",
		"Gute Frage! Das Limit ist 3.", "deletion: Sie sollten die alten Daten löschen.",
		"Das Limit ist 3 und steht in `MaxRetries`. Der Worker löscht Zeilen nach einem Tag und startet von selbst neu."},
	{"fr", "La limite est assurément 3.", "Je ne suis pas sûr, la limite est 3.",
		"N'hésitez pas à demander. La limite est 3.",
		"deletion: Vous devriez supprimer les anciennes données.",
		"La limite est 3, fixée dans `MaxRetries`. Le processus supprime les lignes de plus d'un jour."},
	{"vi", "Giới hạn chắc chắn là 3.", "Tôi đoán giới hạn là 3.", "Câu hỏi rất hay. Giới hạn là 3.",
		"deletion: Bạn nên xóa dữ liệu cũ.",
		"Giới hạn là 3, đặt trong `MaxRetries`. Tiến trình xóa các dòng cũ hơn một ngày."},
	{"ru", "Лимит несомненно равен 3.", "Я не уверен, лимит равен 3.", "Отличный вопрос. Лимит равен 3.",
		"deletion: Удалите старые данные.",
		"Лимит равен 3 и задан в `MaxRetries`. Процесс удаляет строки старше дня и перезапускается сам."},
	{"th", "ขีดจำกัดคือ 3 อย่างแน่นอน", "ไม่แน่ใจ แต่ขีดจำกัดคือ 3", "หวังว่าจะเป็นประโยชน์ ขีดจำกัดคือ 3",
		"deletion: คุณสามารถลบข้อมูลเก่าได้",
		"ขีดจำกัดคือ 3 ตั้งไว้ใน `MaxRetries` โปรเซสจะทิ้งแถวที่เก่ากว่าหนึ่งวัน"},
	{"ar", "الحد هو 3 بلا شك.", "لست متأكدا، الحد هو 3.", "سؤال رائع. الحد هو 3.",
		"deletion: يجب حذف البيانات القديمة.",
		"الحد هو 3 ويضبط في `MaxRetries`. العملية تزيل الصفوف الأقدم من يوم."},
	{"hi", "सीमा निश्चित रूप से 3 है।", "मेरा अनुमान है कि सीमा 3 है।", "आशा है कि यह मदद करे। सीमा 3 है।",
		"deletion: पुराना डेटा हटा दें।",
		"सीमा 3 है और `MaxRetries` में तय है। प्रक्रिया एक दिन से पुरानी पंक्तियाँ मिटाती है।"},
}

func TestLexicons(t *testing.T) {
	for _, d := range drafts {
		if got := OverConfident(d.certain, draft.Medium, safety.Sources{}); len(got) == 0 {
			t.Errorf("%s: not over-confident: %q", d.lang, d.certain)
		}
		if got := OverConfident(d.guess, draft.High, safety.Sources{}); len(got) == 0 {
			t.Errorf("%s: no guess: %q", d.lang, d.guess)
		}
		if got := AIPhrases(d.smell, safety.Sources{}); len(got) == 0 {
			t.Errorf("%s: does not smell: %q", d.lang, d.smell)
		}
		want, text, _ := strings.Cut(d.risk, ": ")
		if got := strings.Join(Risk(text, safety.Sources{}), " "); !strings.Contains(got, want) {
			t.Errorf("%s: risk %q, want %s: %q", d.lang, got, want, text)
		}
		for what, got := range map[string][]string{
			"over-confident": OverConfident(d.plain, draft.Low, safety.Sources{}),
			"a guess":        OverConfident(d.plain, draft.High, safety.Sources{}),
			"smells":         AIPhrases(d.plain, safety.Sources{}), "a risk": Risk(d.plain, safety.Sources{}),
		} {
			if len(got) > 0 {
				t.Errorf("%s: plain, but %s: %v", d.lang, what, got)
			}
		}
	}
}

// TestEveryLexicon holds the files to having all that drafts are judged by.
func TestEveryLexicon(t *testing.T) {
	l := theLexicon()
	if len(l.langs) < 14 {
		t.Fatalf("%d languages", len(l.langs))
	}
	have := map[int]int{}
	for _, lists := range []map[string][]wording{l.words, l.stems} {
		for _, list := range lists {
			for _, w := range list {
				have[w.key]++
			}
		}
	}
	for _, list := range l.letters {
		for _, w := range list {
			have[w.key]++
		}
	}
	for i, lang := range l.langs {
		for s := range nSections {
			if have[s.of(i)] == 0 && !(s == behind && !l.verbLast[i]) && !(s == advice && l.verbLast[i]) &&
				!(s == then && l.verbLast[i]) {
				t.Errorf("%s.txt has nothing in [%s]", lang, sectionNames[s])
			}
		}
	}
	if err := l.addLanguage("xx", map[string][]string{"smell": {"fine"}, "nose": nil}); err == nil ||
		!strings.Contains(err.Error(), `xx.txt: no section "nose"`) {
		t.Errorf("a section that is none: %v", err)
	}
}

func BenchmarkWording(b *testing.B) {
	text := strings.Repeat(drafts[0].plain+" You should look at the configuration of the service first.\n",
		10)
	for b.Loop() {
		AIPhrases(text, safety.Sources{})
		OverConfident(text, draft.Low, safety.Sources{})
		Risk(text, safety.Sources{})
	}
}
