<?php
// Router script for `php -S`: responds to any POST with the form as PHP parsed it, in JSON. If the environment variable
// DUMP_FILE is set, that JSON is written to the file instead, and the response is that of GigHive D3 to an upload, so that
// the real client can upload to this server.
$dump = ['fields' => [], 'files' => [], 'content_length' => (int)($_SERVER['CONTENT_LENGTH'] ?? -1)];
foreach ($_POST as $name => $value) {
    $dump['fields'][] = [(string)$name, (string)$value];
}
foreach ($_FILES as $name => $file) {
    $dump['files'][] = [
        'field' => (string)$name,
        'name' => $file['name'],
        'content_type' => $file['type'],
        'size' => $file['size'],
        'sha256' => $file['error'] === UPLOAD_ERR_OK ? hash_file('sha256', $file['tmp_name']) : "error {$file['error']}",
    ];
}
$json = json_encode($dump, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
header('Content-Type: application/json');
$path = getenv('DUMP_FILE');
if ($path === false) {
    echo $json;
    return;
}
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    http_response_code(404);
    echo '{"error":"Not Found"}';
    return;
}
file_put_contents($path, $json);
http_response_code(201);
$file = $dump['files'][0];
echo json_encode([
    'id' => 1, 'asset_id' => 1, 'event_id' => 1, 'event_item_id' => 1, 'position' => 1,
    'file_name' => $file['sha256'] . '.mp4', 'file_type' => 'video', 'mime_type' => $file['content_type'],
    'size_bytes' => $file['size'], 'checksum_sha256' => $file['sha256'], 'event_date' => $_POST['event_date'] ?? '',
    'org_name' => $_POST['org_name'] ?? 'Band', 'event_type' => $_POST['event_type'] ?? 'band',
    'label' => $_POST['label'] ?? '', 'participants' => '', 'keywords' => '', 'duration_seconds' => null,
    'delete_token' => str_repeat('ab', 32),
]);
