#!/usr/bin/env bash
# Install a wheel into an empty environment, and translate, tour and serve with it outside of the repository.
#     tools/try_package.sh PYTHON dist/regard-VERSION-py3-none-any.whl
set -euo pipefail
python=$1
wheel=$(realpath "$2")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset PYTHONPATH
export HOME=$folder # no cache or configuration of the user
"$python" -m venv environment
environment/bin/python -m pip install --quiet --constraint "$constraints" "regard[serve] @ file://$wheel"
export PATH=$folder/environment/bin:$PATH

echo "== regard translate"
regard translate "I am tired." | tee text.txt
grep -q "fatigué" text.txt
echo "== regard demo --quick"
regard demo --quick
echo "== regard serve"
regard serve --port 0 2> serve.log &
server=$!
trap 'kill $server 2> /dev/null || :; rm -rf "$folder"' EXIT
for _ in $(seq 120); do
    address=$(grep -o 'http://127[0-9.:]*' serve.log | head -n 1 || :)
    [ -n "$address" ] && break
    sleep 1
done
curl --fail --silent "$address/translate" -d q="I am tired." -d source=en -d target=fr | grep "fatigué"
kill -TERM $server
wait $server
echo "== $(basename "$wheel"): $(du -m "$wheel" | cut -f 1) MB; all three work without the repository"
