package rank

import "strings"

// stopWords carry no meaning of their own in a question: English, Indonesian,
// and the politeness of both.
var stopWords = wordSet(`a about above after again all also am an and any anybody anyone are as ask at be because been before
being below between both but by can cannot could did do does doing done down during each else ever every few for from further get
gets give given go goes going got had happen happens has have having he hello help her here hey hi him his how i if in into is it its
just know let like look looking make makes many may me mean means might more most much must my need needs no nor not now of off ok on
once one only or other our out over own please pls same say see shall she should so some somebody someone something such take tell
than thanks that the their them then there these they thing things think this those through to too under until up us use used uses
using very want was way we were what whats when where which while who whom whose why will with would yes yet you your
actual anything believe bit cant come correct didn different doesn doing don everything example fine getting goes gonna good great guess
guys hmm idea ideas instead isn keep kind least less little lot matter matters maybe might never nothing people perhaps plus possible
quick quite rather really reason said seem seems since sort still suggest suggested supposed sure talk told um unless unsure wait
wasn well whether wonder wondering wouldn wrong yeah
exactly actually currently right work works working explain show find question answer anyway maybe code
define defined defines definition located live lives implemented
ada adalah agar aku akan anda apa apakah atau bagaimana bagi bahwa banget beberapa begitu belum berapa biar bisa buat cara dalam dan
dapat dari dengan di dia dimana dong dulu gak gimana guys hanya harus ini itu jadi jika juga ka kak kalau kami kamu kan kapan karena ke
kenapa kita ko kok lagi lah mana masih mau mengapa mereka mohon nah ngga nggak nih nya oleh pada para pas saat saja sama sampai saya
satu sebagai sebuah sedang seperti sih siapa sini situ sudah supaya tahu tapi tau telah tentang tidak tolong tuh udah untuk ya yaitu yang`)

// glossary turns Indonesian words of the trade into the English that code is
// written in.
var glossary = map[string]string{
	"alamat": "address", "aturan": "rule", "baca": "read", "baris": "line", "batas": "limit", "batasan": "limit", "baru": "new",
	"berkas": "file", "bahasa": "language", "buka": "open", "cek": "check", "coba": "try", "daftar": "list", "diambil": "fetch",
	"dibaca": "read", "dibuat": "create", "dihapus": "delete", "dihitung": "count", "dikirim": "send", "dikunci": "lock", "dipakai": "use",
	"disimpan": "store", "ditolak": "refuse", "ditulis": "write", "fungsi": "function", "gagal": "fail", "galat": "error",
	"hapus": "delete", "hitung": "count", "jam": "hour", "jawaban": "reply", "jumlah": "count", "kabel": "wire", "kata": "word",
	"keluar": "exit", "kesalahan": "error", "kirim": "send", "konfigurasi": "config", "kode": "code", "kosong": "empty", "kunci": "lock",
	"lokasi": "location", "maksimal": "max", "maksimum": "max", "masuk": "input", "membaca": "read", "menulis": "write",
	"menyimpan": "store", "minimal": "min", "mulai": "start", "nama": "name", "nilai": "value", "panjang": "length", "pengaturan": "config",
	"pengguna": "user", "perintah": "command", "pertanyaan": "question", "pesan": "message", "putus": "disconnect", "rahasia": "secret",
	"saluran": "channel", "selesai": "done", "simpan": "store", "tanggal": "date", "tulis": "write", "tutup": "close", "ubah": "change",
	"ukuran": "size", "ulang": "retry", "urutan": "order", "waktu": "time", "berhenti": "stop", "tunggu": "wait", "ganti": "replace",
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// alike are words that people use for one another when they talk of programs. One
// who asks for the first of a line may well find the answer under another.
const alike = `
timeout deadline expire expiry expiration lapse ttl
retry attempt again try backoff
maximum limit cap most bound upper largest biggest
minimum least smallest lowest
default fallback initial
config setting option preference
delete remove drop purge discard erase unlink evict
error fail failure exception fault wrong invalid
create make build construct generate
start begin launch init boot spawn
stop end quit halt terminate shutdown kill abort cancel
close shutdown hangup disconnect goodbye
send post emit publish write deliver submit
receive read get fetch recv accept incoming
check verify validate ensure
refuse reject deny forbid disallow prohibit invalid error
allow permit accept authorize approve
change modify update edit alter
show display print render output
log logging logger
search lookup locate detect discover find
save store persist
load read open
parse decode read
split cut chop partition divide separate
join merge combine concat
wait sleep pause block delay
often interval period frequency
long duration timeout length seconds
big large size length bytes
many count number max
length size len
folder directory path
password secret credential token
connection socket conn
argument parameter option
function method callback hook handler
truncate shrink cut
rotate rollover reopen
permission mode chmod access
cache memoize memo
worker thread process
peer client remote
similar suggest suggestion distance close match ratio
duplicate twice repeat same already
hide hidden visible invisible
warn warning complain
mandatory required must
missing absent
empty blank nothing none
hang stall stuck
crash die abrupt broken kill
color colour
guess detect sniff
convert translate transform
ignore skip
replace rename move
throw raise panic
sort order compare
random chance
whole complete full
part partial half fragment
newest latest last
oldest first
cost price spend budget money
money budget
fallback default
escape quote
subcommand command
flag option switch
mistype suggest unknown
exit status code
symlink link
greeting helo hello
header field
body payload content
async asynchronous
unsubscribe leave
background goroutine thread daemon
indent indentation spaces
compress deflate gzip
trailing extra rest
once single
wide width columns
tidy cleanup clean
prevent avoid stop
lookup resolve
newline line
trust verify secure
mask masked unmasked
browser client agent
user person account
tamper chain changed
cancel abort done
reopen rotate recreate
notice detect
`

// alikes are the words of alike by their stems.
var alikes = func() map[string][]string {
	all := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(alike), "\n") {
		words := strings.Fields(line)
		for i := range words {
			words[i] = string(fold(stem([]byte(words[i]))))
		}
		for _, w := range words {
			for _, other := range words {
				if w != other {
					all[w] = append(all[w], other)
				}
			}
		}
	}
	return all
}()
