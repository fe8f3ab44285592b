# Builds into a small file system that another writer fills while the disk is being made, then once more with room.
# Runs in a mount namespace of its own: what is mounted here is seen nowhere else.
forge=$1 agent=$2 spec=$3 place=$4
mkdir -p "$place"
mount -t tmpfs -o size=4000m small "$place"
build() {
    "$forge" build "$spec" --out "$place" --agent "$agent"
}
mkfifo "$place.said"
build >"$place.said" 2>&1 &
pid=$!
while IFS= read -r line; do
    echo "$line"
    case $line in
    disk*...*)
        # Most of it at once, then the rest until nothing fits any more, which is how dd ends.
        fallocate -l 3000M "$place/filler"
        dd if=/dev/zero of="$place/filler" bs=4M seek=750 2>/dev/null || :
        ;;
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
