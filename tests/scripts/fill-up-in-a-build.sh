# Builds into a small file system that another writer fills while the disk is being made, then once more with room.
# Runs in a mount namespace of its own: what is mounted here is seen nowhere else.
forge=$1 agent=$2 spec=$3 place=$4
mkdir -p "$place"
mount -t tmpfs -o size=3300m small "$place"
build() {
    "$forge" build "$spec" --out "$place" --agent "$agent"
}
mkfifo "$place.said"
build >"$place.said" 2>&1 &
pid=$!
while IFS= read -r line; do
    echo "$line"
    case $line in
    disk*...*) fallocate -l "$(($(stat -f --format='%a * %S' "$place")))" "$place/filler" ;;
    esac
done <"$place.said"
code=0
wait $pid || code=$?
echo "first build: exit $code"
echo "files after it:" $(ls -A "$place")
rm "$place/filler" "$place.said"
code=0
build >/dev/null || code=$?
echo "second build: exit $code"
