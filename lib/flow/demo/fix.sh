# An agent that changes code by a fixed script: the task comes on standard input in
# the prompt, the copy of the code is the folder that it starts in.
set -eu
case "$(cat)" in *"disk is full"*) exit 1 ;; esac
sed 's/= 1000/= 2000/' export.go >export.new
mv export.new export.go
echo 'The limit in export.go is 2000 rows.'
