package codesearch

import "strings"

// shorts are abbreviations used in code with the full words, and words whose forms stemming does not
// relate. The first word of a line stands for the others.
const shorts = `
abs absolute
ack acknowledge
algo algorithm
alt alternative alternate
arg argument
asynchronous async
attr attribute
auth authenticate authentication authorization author
begin begun began
bool boolean
break broken
build built
catch caught
cert certificate
char character
child children
choose chosen
cmd command
col column
cond condition
config configure
conn connect
const constant
context ctx
coord coordinate
cred credential
db database
decl declare
del delete
delim delimiter
desc description describe
dest destination dst
dict dictionary
die dying dead died
dir directory folder
doc document documentation
dup duplicate
elem element
env environ environment
error err
exc exception
exec execute execution
expr expression
ext extension
find found
fmt format
freq frequency
func function
gen generate
hex hexadecimal
hide hidden
id identify
idx index
img image
inc increment
info information
init initialize initialise initial
int integer
keep kept
lang language
len length
lib library
loc location
lose lost
max maximum maximal
mem memory
message msg
min minimum minimal
ms millisecond
mul multiply
num number
obj object
op operation
opt option optional
orig original
param parameter
password pwd passwd
pkg package
pos position
prev previous
priv private
proc process
prop property
pub public
rand random
recv receive
ref reference
reg register registration
repo repository
req request
resp response
run ran
second sec
send sent
seq sequence
sig signature
spec specification
spend spent
src source
sync synchronize synchronise synchronous
sys system
take taken
throw thrown
tmp temporary temp
tmpl template
util utility
val value
var variable
ver version
write written
`

// same maps the stems of shorts to the stem that stands for them.
var same = func() map[string][]byte {
	all := map[string][]byte{}
	for _, line := range strings.Split(strings.TrimSpace(shorts), "\n") {
		words := strings.Fields(line)
		for i := range words {
			words[i] = string(stem([]byte(words[i])))
		}
		for _, w := range words[1:] {
			if w != words[0] {
				all[w] = []byte(words[0])
			}
		}
	}
	return all
}()
