#!/usr/bin/env bash
# Demonstrates the main tasks on a separate server: upload a video, list it, delete it; upload photos, and download them
# on another machine; submit the hash of a photo; collect clips in a tape with an album. Touches nothing outside a
# temporary directory. Fails if any step does not have the printed effect.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

scripts/setup.sh demo
# MEDIACTL_BINARY and MEDIACTL_SANDBOX are existing programs: .ci/run runs the demo with the release build.
if [ -n "${MEDIACTL_BINARY:-}" ] && [ -n "${MEDIACTL_SANDBOX:-}" ]; then
    program=$(realpath "$MEDIACTL_BINARY")
    sandbox=$(realpath "$MEDIACTL_SANDBOX")
else
    echo "demo: building mediactl and its sandbox server (the first time takes some minutes)"
    build_log=$(mktemp)
    for product in mediactl mediactl-sandbox; do
        swift build --product "$product" >"$build_log" 2>&1 || {
            cat "$build_log" >&2
            rm -f "$build_log"
            exit 1
        }
    done
    rm -f "$build_log"
    binaries=$(swift build --show-bin-path)
    program=$binaries/mediactl
    sandbox=$binaries/mediactl-sandbox
fi

work=$(mktemp -d)
sandbox_pid=
clean_up() {
    if [ -n "$sandbox_pid" ]; then
        kill "$sandbox_pid" 2>/dev/null || true
        wait "$sandbox_pid" 2>/dev/null || true
    fi
    cd "$root"
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The user's own settings, tokens and .netrc are not used.
export HOME=$work/home XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data XDG_STATE_HOME=$work/state \
    XDG_CACHE_HOME=$work/cache
mkdir -p "$HOME"
for name in $(compgen -e MEDIACTL_); do
    unset "$name"
done

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
fail() {
    echo "demo: $1" >&2
    exit 1
}
mediactl() {
    local word words=
    for word in "$@"; do
        case $word in *[!a-zA-Z0-9_./:=-]*) words+=" \"$word\"" ;; *) words+=" $word" ;; esac
    done
    echo "\$ mediactl$words"
    "$program" "$@"
}
status_of() { curl --silent --output /dev/null --write-out '%{http_code}' --head --user uploader:uploader "$1"; }

say "A local server starts on a free port; it stores its files in a temporary directory."
"$sandbox" --listen 127.0.0.1:0 --data "$work/server" --photosync-rewrite off \
    --fault upload:slow=1000000 \
    >"$work/sandbox.out" 2>"$work/sandbox.err" &
sandbox_pid=$!
for _ in $(seq 300); do
    grep -q '^listening on ' "$work/sandbox.out" && break
    kill -0 "$sandbox_pid" 2>/dev/null || { cat "$work/sandbox.err" >&2; fail "the sandbox did not start"; }
    sleep 0.1
done
url=$(sed -n 's/^listening on //p' "$work/sandbox.out")
[ -n "$url" ] || fail "the sandbox did not become ready"
export MEDIACTL_SERVER=$url MEDIACTL_USER=uploader MEDIACTL_PASSWORD=uploader
echo "\$ export MEDIACTL_SERVER=$url MEDIACTL_USER=uploader MEDIACTL_PASSWORD=uploader"

cd "$work"
clip=first-dance.mp4
if command -v ffmpeg >/dev/null; then
    say "ffmpeg creates a video of three seconds."
    ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=25:duration=3 \
        -f lavfi -i sine=frequency=440:duration=3 -c:v mpeg4 -b:v 24M -c:a aac -shortest "$clip"
else
    say "Using a small video that is included in the project."
    cp "$root/fixtures/media/clip.mp4" "$clip"
fi
ls -l "$clip"

say "Uploading the video. The server reads slowly on purpose, so that you can see the progress."
mediactl upload "$clip" --event-date 2026-06-13 --org-name "Ann & Bob" --event-type wedding --label "First dance" |
    tee "$work/upload.out"

say "The upload is listed: its delete token is in the token store."
mediactl uploads list | tee "$work/list.out"
grep -q "First dance" "$work/list.out" || fail "the upload is not in the list"

checksum=$(sha256sum "$clip" | cut -d ' ' -f 1)
media=$url/video/$checksum.mp4
say "The server serves the file under its SHA-256."
echo "\$ curl --head $media"
status=$(status_of "$media")
echo "HTTP status $status"
[ "$status" = 200 ] || fail "expected 200"

say "Wrong clip? Delete it with the token."
mediactl uploads delete --last --yes

say "The file is deleted from the server …"
echo "\$ curl --head $media"
status=$(status_of "$media")
echo "HTTP status $status"
[ "$status" = 404 ] || fail "expected 404"

say "… and from the list."
mediactl uploads list | tee "$work/list.out"
! grep -q "First dance" "$work/list.out" || fail "the deleted upload is still in the list"

say "The server also stores photos. Logging in with an API key from a file registers this machine."
export MEDIACTL_SERVER=$url
printf 'a11ce%059d\n' 0 >key.txt
chmod 600 key.txt
mediactl login --api-key-file key.txt --device-name studio

mkdir Pictures
if command -v ffmpeg >/dev/null; then
    say "ffmpeg creates two photos."
    ffmpeg -hide_banner -loglevel error -f lavfi -i mandelbrot=size=1600x1200:rate=1 -frames:v 1 Pictures/mandelbrot.jpg
    ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc2=size=1600x1200:rate=1 -frames:v 1 Pictures/colors.jpg
else
    say "Using two one-pixel images as photos."
    for color in 0 377; do
        printf "GIF89a\\1\\0\\1\\0\\200\\0\\0\\$color\\0\\0\\0\\0\\0,\\0\\0\\0\\0\\1\\0\\1\\0\\0\\2\\2D\\1\\0;" \
            >"Pictures/$color.gif"
    done
fi

say "Missing photos are uploaded. A photo is \"uploaded\" only when the server lists it as owned by this user."
mediactl sync push Pictures
mediactl sync push Pictures

say "Another machine of the same user logs in, lists, downloads, and verifies the photos."
export XDG_DATA_HOME=$work/laptop/data XDG_CACHE_HOME=$work/laptop/cache
mediactl login --api-key-file key.txt --device-name laptop
mediactl sync
mediactl sync list
mediactl sync download --missing --output Fetched
mediactl sync verify
fetched=$(find Fetched -type f | wc -l)
[ "$fetched" = 2 ] || fail "expected 2 photos in Fetched"

say "A photo stays on this machine: only its hash and depth statistics of the scene are submitted."
picture=$(find Pictures -type f | sort | head -n 1)
cp "$root/fixtures/depth/typical_scene.f32" depth.f32
export MEDIACTL_CAPTURE_URL=$url
mediactl hash-only register
mediactl hash-only "$picture" --depth depth.f32 --depth-size 256x192 --location 52.5163,13.3777 --dry-run | tee body.json
grep -q '"city":"Berlin"' body.json || fail "the body does not name the city"
mediactl hash-only "$picture" --depth depth.f32 --depth-size 256x192 --location 52.5163,13.3777
mediactl hash-only verify "$picture"

say "Clips are added to a tape, and the tape gets an album: a folder of symbolic links. Originals are never modified."
export MEDIACTL_ALBUMS_FOLDER_ROOT=$work/Albums
mediactl tapes create Evening
mediactl tapes add Evening "$clip" "$picture" --no-input
mediactl tapes move Evening 2 --position 1
mediactl tapes show Evening
ls -l "$work/Albums/Tapes – Evening"
for link in "0001-$(basename "$picture")" "0002-$clip"; do
    [ -L "$work/Albums/Tapes – Evening/$link" ] || fail "the album does not show the clips in the order of the tape: no $link"
done
mediactl tapes export Evening

say "Done: uploaded, listed, deleted; synced, downloaded, verified; hash submitted; clips collected. Next: make test, or README.md."
