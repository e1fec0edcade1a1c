package codesearch

import (
	"strings"
	"tri/lib/base/text"
)

// stopWords carry no meaning in a question: English and Indonesian function words and courtesies.
var stopWords = text.Set(`a about above after again all also am an and any anybody anyone are as ask at be because been before
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

// glossary translates Indonesian technical terms into the English used in code.
var glossary = map[string]string{
	"alamat": "address", "aturan": "rule", "baca": "read", "baris": "line", "batas": "limit",
	"batasan": "limit", "baru": "new",
	"berkas": "file", "bahasa": "language", "buka": "open", "cek": "check", "coba": "try", "daftar": "list",
	"diambil": "fetch",
	"dibaca":  "read", "dibuat": "create", "dihapus": "delete", "dihitung": "count", "dikirim": "send",
	"dikunci": "lock", "dipakai": "use",
	"disimpan": "store", "ditolak": "refuse", "ditulis": "write", "fungsi": "function", "gagal": "fail",
	"galat": "error",
	"hapus": "delete", "hitung": "count", "jam": "hour", "jawaban": "reply", "jumlah": "count",
	"kabel": "wire", "kata": "word",
	"keluar": "exit", "kesalahan": "error", "kirim": "send", "konfigurasi": "config", "kode": "code",
	"kosong": "empty", "kunci": "lock",
	"lokasi": "location", "maksimal": "max", "maksimum": "max", "masuk": "input", "membaca": "read",
	"menulis":   "write",
	"menyimpan": "store", "minimal": "min", "mulai": "start", "nama": "name", "nilai": "value",
	"panjang": "length", "pengaturan": "config",
	"pengguna": "user", "perintah": "command", "pertanyaan": "question", "pesan": "message",
	"putus": "disconnect", "rahasia": "secret",
	"saluran": "channel", "selesai": "done", "simpan": "store", "tanggal": "date", "tulis": "write",
	"tutup": "close", "ubah": "change",
	"ukuran": "size", "ulang": "retry", "urutan": "order", "waktu": "time", "berhenti": "stop",
	"tunggu": "wait", "ganti": "replace",
}

// alike are groups of words that people use interchangeably about programs. The answer to a question with
// one of them may use another.
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
login auth authenticate signin session
permission role access authorize allow
encrypt cipher crypto encryption
sign signature hmac
hash digest checksum sum
upload attachment file
download fetch
page pagination paginate cursor offset
throttle ratelimit limiter quota
queue backlog pending
job task worker
schedule cron timer tick periodic
email mail smtp
database sql store storage
table schema column
migration migrate upgrade
listen bind port address
health ping heartbeat keepalive alive
metric counter gauge statistic stat
version release tag
plugin extension module
template render
route router path endpoint url
endpoint handler route
request call query
response reply answer
status state
environment env variable
lock mutex exclusive
race concurrent parallel simultaneous
deadlock stuck hang
leak close release
memory heap ram allocation
disk filesystem storage
copy clone duplicate
equal same compare match
unique distinct duplicate
filter select exclude
include add append insert
nested recursive depth
recursion recursive depth loop cycle
loop cycle circular
root base top
child sub nested
parent outer enclosing
comment remark note
whitespace space blank trim strip
strip trim remove
uppercase lowercase case
encoding charset codec unicode
unicode utf8 rune encoding
precision digits decimal round
negative minus sign
integer int number
float decimal number double
string text str
list array slice sequence
dictionary map dict hash mapping
pattern regex regexp glob match
wildcard glob star pattern
syntax grammar parse
token lexer scan tokenize
tree node ast
graph edge node cycle
compile build
deploy release rollout
install setup
uninstall remove
certificate cert tls ssl
handshake upgrade negotiate
protocol version scheme
proxy forward gateway
redirect location follow
cookie session
stream pipe flow
buffer buffered flush queue
flush sync fsync write
subscribe listen watch notify
notify alert inform signal event
event message notification
signal interrupt sigterm sigint
shell command subprocess exec
execute run exec invoke call
invoke call run
abstract interface protocol
inherit subclass base parent
override overwrite replace
deprecate obsolete legacy
experimental beta unstable
verbose debug trace
trace stacktrace traceback
stdin input
stdout output
truncate clip shorten
round floor ceil
timestamp date time datetime
timezone utc zone
weekday day calendar
locale language translation
currency money price
average mean
median middle quantile
seed random
`

// alikes maps the stem of each word of alike to the others of its line.
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

// everyday are words of conversation on any subject. Some are rare in code, but then their few occurrences
// are not significant.
var everyday = stemSet(`across actual ago ahead almost alone along already alright although altogether always another answer anyhow anyone anything anyway apart
appear apparently around aside ask asked away back bad basically behave behaviour behavior believe beside besides best better beyond bit
both bring broadly bunch called came care carry case certain certainly chatty choose chosen clear clearly come complain concern confuse
consider count couple course day deal decide depend despite difference difficult direct easily easy either enough entire especially even
eventually everybody explain extra eye face fact far fast feel few find fine first folks forever found further gave general gone guy hand
hard hardly heard hit hold hope however imagine immediately important inside instance instead interest involve itself keep kept kind knew
known last late later lately learn leave led left let life likely little logic longer look lots love main manage matter meant meanwhile
mention middle mind moment mostly myself natural near nearly nice notice obvious odd often okay old ones onto opposite ordinary otherwise
ourselves overall part particular past pay pick piece place plain pleasant practice prefer pretty previous probably problem proper purpose
put quiet rare ready real realise realize reason recent remember respect right roughly sad saw say seen sense serious several short side
silly similar simply situation slight slow somehow someone sometimes somewhere soon sorry sound speak special spend stand stay stick stuff
success sudden suit sum surprise swear sit takes taken talk team tend thank thing though thought three throughout thus tidy tiny today
together told tomorrow tonight took top toward trouble true truly turn twice two ugly understand unfortunately unlikely upon usual usually
various vs wanna weird went whatever whenever wherever whichever whole wish wonder world worry worse worst worth wrong yesterday yet young
yourself somewhat suppose mean happen forward actually people person guys library project codebase repo things polite made make goodbye chat
putting others`)

func stemSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[string(fold(stem([]byte(w))))] = true
	}
	return set
}

// phrases are idioms of everyday speech, with the words used in code.
var phrases = []struct{ said, meant string }{
	{"at most", "max limit"}, {"no more than", "max limit"}, {"at least", "min"},
	{"how many", "max limit count number"},
	{"how long", "timeout duration seconds length max"}, {"how often", "interval period every"},
	{"how big", "size max limit bytes"},
	{"how large", "size max limit bytes"}, {"how wide", "width columns"}, {"how deep", "depth max"},
	{"how much", "max limit amount"},
	{"give up", "timeout max"}, {"gives up", "timeout max"}, {"turn off", "disable"},
	{"turned off", "disabled"}, {"switch off", "disable"},
	{"switched off", "disabled"}, {"turn on", "enable"}, {"switch on", "enable"},
	{"left out", "missing required omit skip"},
	{"leave out", "omit skip"}, {"by default", "default"}, {"out of the box", "default"},
	{"unless i", "default"}, {"if i configure nothing", "default"},
	{"take back", "undo revert cancel"}, {"pick up", "resume continue"}, {"picks up", "resume continue"},
	{"start over", "restart reset"},
	{"start again", "restart reset"}, {"from scratch", "rebuild new"}, {"clean up", "cleanup remove"},
	{"cleans up", "cleanup remove"},
	{"log in", "login auth"}, {"thrown away", "discard drop delete"}, {"throw away", "discard drop delete"},
	{"more than once", "duplicate twice repeat"},
	{"run out", "exhausted spent"}, {"get rid of", "remove delete"}, {"look up", "lookup"},
	{"find out", "detect"}, {"too big", "max limit exceed large"},
	{"too large", "max limit exceed big"}, {"too long", "max limit exceed length"},
	{"too many", "max limit exceed"}, {"hang up", "close"},
	{"shut down", "shutdown close"}, {"set up", "setup init"}, {"same time", "concurrent parallel lock"},
	{"at once", "concurrent immediately"},
	{"not there", "missing exist"}, {"isn't there", "missing exist"}, {"doesn't exist", "exist missing"},
	{"does not exist", "exist missing"},
	{"time out", "timeout deadline"}, {"times out", "timeout deadline"}, {"timed out", "timeout deadline"},
	{"back off", "backoff retry"},
	{"again and again", "retry loop"}, {"try again", "retry"}, {"tried again", "retry"},
	{"who may", "allow permission"}, {"who can", "allow permission"},
	{"kick in", "threshold"}, {"from how many", "threshold min"}, {"cut off", "truncate limit"},
	{"cut short", "truncate"}, {"half written", "partial incomplete"},
	{"half-written", "partial incomplete"}, {"which order", "sort order"}, {"what order", "sort order"},
	{"on purpose", "intentional"},
	{"made up", "generate"}, {"figure out", "detect guess"}, {"keep track", "track record"},
	{"talk to", "connect client"}, {"point to", "path"},
	{"kept out", "exclude skip hide"}, {"let in", "allow accept"}, {"next to", "beside"},
	{"end up", "result"}, {"in charge", "owner"},
}
