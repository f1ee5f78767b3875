/// One command of a session.
struct TranscriptStep: Sendable {
    /// Its purpose.
    enum Purpose: Sendable {
        /// It succeeds. Shown on the pipe and on every terminal.
        case success
        /// It is rejected, or fails.
        case refusal
        /// It is a dry run, or writes records. On the pipe only: it must not change anything.
        case look
        /// It prepares what follows, and is not shown.
        case preparation
    }

    var purpose: Purpose
    /// As typed, with `{name}` for a value that an earlier step has kept.
    var line: String
    /// On a terminal: the prompt, and the input.
    var responses: [(question: String, response: String)] = []
    /// Omitted on a terminal, where the prompt is confirmed, and needed elsewhere.
    var consent = ""
    /// Environment variables of this step.
    var environment: [String: String] = [:]
    /// Keeps the value of a key of the first JSON record that has it.
    var kept: (name: String, key: String)?
    /// Name of a photo that is deleted on the photo server before this step.
    var deletedBefore: String?
    /// Whether each line must fit the terminal: true for tables, false for values that are copied as a whole.
    var isTable = false
    /// Whether it may take long enough to print a status line.
    var isLong: Bool {
        [
            "upload ", "uploads resume ", "sync two-way ", "sync pull", "sync push ", "sync download ", "sync verify",
            "sync repair", "hash-only send ", "tapes add ", "tapes insert ",
        ].contains(where: line.hasPrefix)
    }

    static func ok(_ line: String) -> Self { .init(purpose: .success, line: line) }
    static func table(_ line: String) -> Self { .init(purpose: .success, line: line, isTable: true) }
    static func no(_ line: String) -> Self { .init(purpose: .refusal, line: line) }
    static func look(_ line: String) -> Self { .init(purpose: .look, line: line) }

    static func prompted(_ line: String, _ question: String) -> Self {
        .init(purpose: .success, line: line, responses: [(question + " [y/N] ", "yes\n")], consent: " --yes")
    }

    static func prepare(_ line: String, _ environment: [String: String] = [:]) -> Self {
        .init(purpose: .preparation, line: line, environment: environment)
    }

    static func keep(_ name: String, _ key: String, of line: String) -> Self {
        .init(purpose: .preparation, line: line + " --json", kept: (name, key))
    }
}

/// What the sessions do, in a possible order.
enum TranscriptScript {
    static let steps = uploads + media + sync + captures + tapes + program

    private static let party =
        #"--event-date 2026-06-13 --event-type wedding --org-name "Ann & Bob" --label "First dance""#

    private static let uploads: [TranscriptStep] = [
        .no("uploads list --server media.example.org --all"),
        .ok("upload first-dance.mp4 " + party),
        .ok(#"upload concert.mp4 encore.mp4 --event-date 2026-06-14 --org-name "The Larks" --jobs 1"#),
        .no("upload missing.mp4"), .no("upload notes.txt"), .look("upload first-dance.mp4 --dry-run"),
        .look("upload first-dance.mp4 --json " + party),
        .table("uploads list"), .look("uploads list --json"),
        .ok("uploads show 1"), .no("uploads show 99"), .look("uploads show 1 --json"),
        .look("uploads delete 3 --dry-run"), .look("uploads delete 3 --dry-run --json"), .no("uploads delete 3"),
        .no("uploads delete 99 --yes"), .prompted("uploads delete 3", "Delete it?"),
        .prepare(
            "upload long.mp4 --transport tus --chunk-size 64K --event-date 2026-06-14",
            ["MEDIACTL_KILL_AT": "afterPatch"]
        ),
        .look("uploads status --dry-run"), .look("uploads status --json"),
        .no("uploads status --server ftp://media.test"),
        .table("uploads status"),
        .look("uploads resume --all --dry-run"), .look("uploads resume --all --dry-run --json"),
        .no("uploads resume u-aaaaaaaaaaaaaaaa"), .ok("uploads resume --all"),
        .prepare(
            "upload longer.mp4 --transport tus --chunk-size 64K --event-date 2026-06-14",
            ["MEDIACTL_KILL_AT": "afterPatch"]
        ),
        .keep("upload", "upload_id", of: "uploads status --dry-run"),
        .look("uploads discard {upload} --dry-run"), .look("uploads discard {upload} --dry-run --json"),
        .ok("uploads responses"), .look("uploads responses --json"),
        .no("uploads responses --discard r-00000000 --yes"), .no("uploads responses --discard r-00000000 --dry-run"),
        .no("uploads discard u-aaaaaaaaaaaaaaaa"), .prompted("uploads discard {upload}", "Discard it?"),
        .ok("uploads verify"), .look("uploads verify --json"), .no("uploads verify --report missing.json"),
        .no("uploads export"), .ok("uploads export --output tokens.jsonl"), .no("uploads export --output tokens.jsonl"),
        .look("uploads export --output again.jsonl --json"),
        .look("uploads clear --all --dry-run"), .look("uploads clear --all --dry-run --json"),
        .look("uploads list --host media.test:8080 --org-name none"), .no("uploads clear"),
        .prompted("uploads clear --all", "Remove the tokens?"),
        .look("uploads import tokens.jsonl --dry-run"), .look("uploads import tokens.jsonl --dry-run --json"),
        .no("uploads import missing.jsonl"), .ok("uploads import tokens.jsonl"),
        .look("uploads adopt response.txt --server https://gighive.example --dry-run"),
        .look("uploads adopt response.txt --server https://gighive.example --dry-run --json"),
        .no("uploads adopt response.txt"), .no("uploads adopt r-00000000"),
        .ok("uploads adopt response.txt --server https://gighive.example"),
        .ok("store check"), .look("store check --json"), .no("store check --data-dir notes.txt"),
        .ok("store backup copy.sqlite"), .look("store backup again.sqlite --json"), .no("store backup copy.sqlite"),
        .ok("store repair"), .look("store repair --dry-run"), .look("store repair --dry-run --json"),
        .no("store repair --data-dir notes.txt"),
        .look("store restore copy.sqlite --dry-run"), .look("store restore copy.sqlite --dry-run --json"),
        .no("store restore missing.sqlite"), .ok("store restore copy.sqlite"),
        .ok("doctor"), .no("doctor --server http://127.0.0.1:1"), .look("doctor --json"),
        .ok("smoke"), .no("smoke --password-file missing.txt"), .look("smoke --json"),
    ]

    /// At the end of the uploads, with a file that no other step uses.
    private static let media: [TranscriptStep] = [
        .prepare(#"upload longer.mp4 --event-date 2026-06-15 --org-name "The Larks" --label Spare"#),
        .table("media list"), .no("media list --event-type band"), .look("media list --json"),
        .ok("media show 1"), .no("media show 99"), .look("media show 1 --json"),
        .table("media find --file longer.mp4"), .no("media find --label Nothing"),
        .look("media find --file longer.mp4 --json"),
        .look("media delete --file longer.mp4 --dry-run"), .look("media delete --file longer.mp4 --dry-run --json"),
        .no("media delete --file longer.mp4 --yes"),
        .init(
            purpose: .success,
            line: "media delete --file longer.mp4 --user admin",
            responses: [("Delete 1 file? [y/N] ", "yes\n")],
            consent: " --yes",
            environment: ["MEDIACTL_PASSWORD": "admin"]
        ),
    ]

    private static let sync: [TranscriptStep] = [
        .no("login --api-key-file missing.txt"), .no("sync pull"), .no("sync push pictures"),
        .look("login --api-key-file key.txt --device-name Studio --dry-run"),
        .look("login --api-key-file key.txt --device-name Studio --dry-run --json"),
        .ok("login --api-key-file key.txt --device-name Studio"),
        .look("sync push pictures --dry-run"), .look("sync push pictures --dry-run --json"), .no("sync push missing"),
        .ok("sync push pictures"),
        .look("sync pull --dry-run"), .look("sync pull --dry-run --json"),
        .init(purpose: .success, line: "sync pull", responses: [("Claim them? [y/N] ", "no\n")]),
        .table("sync list"), .no("sync list --since yesterday"), .look("sync list --json"),
        .ok("sync status"), .no("sync status --server http://127.0.0.1:1"), .look("sync status --json"),
        .look("sync download --missing --output copies --dry-run"),
        .look("sync download --missing --output copies --dry-run --json"),
        .no("sync download nothing --output copies"), .ok("sync download --missing --output copies --jobs 1"),
        .ok("sync download --thumbnails --output copies"),
        .ok("sync verify"), .no("sync verify --server http://127.0.0.1:1"), .look("sync verify --json"),
        .ok("sync verify --server-files"),
        .look("sync repair --dry-run"), .look("sync repair --dry-run --json"), .no("sync repair"),
        .ok("sync repair --yes"),
        .look("claim-legacy --list"), .look("claim-legacy --list --json"), .look("claim-legacy --all --dry-run"),
        .no("claim-legacy"),
        .no("claim-legacy --all"), .prompted("claim-legacy --all", "Claim them?"),
        .look("sync two-way both --dry-run"), .look("sync two-way both --dry-run --json"), .no("sync two-way both"),
        .prompted("sync two-way both", "Upload and download them?"), .look("sync two-way both --json"),
        .init(purpose: .preparation, line: "sync pull --full", deletedBefore: "IMG_0002.jpg"),
        .ok("sync push pictures"),
        .look("sync forget pictures --dry-run"), .look("sync forget pictures/IMG_0002.jpg --dry-run --json"),
        .no("sync forget pictures/IMG_0001.jpg"), .ok("sync forget pictures/IMG_0002.jpg"),
        .ok("login status"), .no("login status --sever"), .look("login status --json"),
        .look("logout --dry-run"), .look("logout --dry-run --json"), .no("logout --server ftp://media.test"),
        .ok("logout"),
    ]

    private static let captures: [TranscriptStep] = [
        .init(
            purpose: .refusal,
            line: "hash-only send square.jpg",
            responses: [("without a depth map? [y/N] ", "no\n")]
        ),
        .no("hash-only send square.jpg --no-depth"), .look("hash-only register --dry-run"),
        .look("hash-only register --dry-run --json"),
        .ok("hash-only register"), .no("hash-only register"),
        .look(
            "hash-only send square.jpg --depth square.f32 --depth-size 3x3 --captured-at 2026-06-13T12:00:00Z --dry-run"
        ),
        .no("hash-only send missing.jpg"),
        .ok("hash-only send square.jpg --depth square.f32 --depth-size 3x3 --captured-at 2026-06-13T12:00:00Z"),
        .look("hash-only send square.jpg --depth square.f32 --depth-size 3x3 --json"),
        .table("hash-only list"), .no("hash-only list --opne"), .look("hash-only list --json"),
        .keep("capture", "capture_id", of: "hash-only list"),
        .ok("hash-only show {capture}"), .no("hash-only show zzzz"), .look("hash-only show {capture} --json"),
        .ok("hash-only retry --all"), .no("hash-only retry zzzz"),
        .look("hash-only retry --all --dry-run"), .look("hash-only retry --all --json"),
        .ok("hash-only verify square.jpg"), .no("hash-only verify first-dance.mp4"),
        .look("hash-only verify square.jpg --json"),
        .ok("hash-only export {capture} --bundle evidence/"), .ok("hash-only verify square.jpg --bundle evidence"),
        .look("hash-only verify --bundle evidence --json"),
        .ok("hash-only export {capture} --output out.jpg"), .no("hash-only export {capture} --output out.jpg"),
        .look("hash-only export {capture} --bundle bundle.json --json"),
        .table("hash-only settings show"), .no("hash-only settings show --jsn"),
        .look("hash-only settings show --json"),
        .look("hash-only settings set location none --dry-run"),
        .look("hash-only settings set location none --dry-run --json"),
        .no("hash-only settings set location everywhere"), .ok("hash-only settings set location none"),
    ]

    private static let tapes: [TranscriptStep] = [
        .no("tapes library status"), .no("tapes library init --library-url ftp://photos.test"),
        .init(purpose: .success, line: "tapes library init", responses: [("/Tapes\"? [y/N] ", "yes\n")]),
        .look("tapes library init --dry-run"), .look("tapes library init --dry-run --json"),
        .ok("tapes library status"), .look("tapes library status --json"), .no("tapes library status --library floder"),
        .ok("tapes library grant"), .no("tapes library grant --library floder"), .look("tapes library grant --json"),
        .look("tapes create Summer --dry-run"), .look("tapes create Summer --dry-run --json"),
        .no("tapes create Summer --jsn"),
        .ok("tapes create Summer"),
        .look("tapes add Summer first-dance.mp4 --dry-run"), .look("tapes add Summer first-dance.mp4 --dry-run --json"),
        .no("tapes add Summer missing.mp4"), .ok("tapes add Summer first-dance.mp4 pictures/IMG_0001.jpg"),
        .look("tapes insert Summer encore.mp4 --position 1 --dry-run"),
        .look("tapes insert Summer encore.mp4 --position 1 --dry-run --json"),
        .no("tapes insert Summer encore.mp4"), .ok("tapes insert Summer encore.mp4 --position 1"),
        .table("tapes list"), .no("tapes list --alll"), .look("tapes list --json"),
        .ok("tapes show Summer"), .no("tapes show Winter"), .look("tapes show Summer --json"),
        .look("tapes move Summer 3 --position 1 --dry-run"),
        .look("tapes move Summer 3 --position 1 --dry-run --json"),
        .no("tapes move Summer 9 --position 1"), .ok("tapes move Summer 3 --position 1"),
        .look(##"tapes set Summer --clip "#1" --rotate 90 --dry-run"##),
        .look("tapes set Summer --scale fill --dry-run --json"),
        .no("tapes set Summer"), .ok(##"tapes set Summer --clip "#1" --rotate 90"##),
        .look(#"tapes rename Summer "Summer 2026" --dry-run"#),
        .look(#"tapes rename Summer "Summer 2026" --dry-run --json"#),
        .no("tapes rename Winter Spring"), .ok(#"tapes rename Summer "Summer 2026""#),
        .look(#"tapes duplicate "Summer 2026" --dry-run"#), .look(#"tapes duplicate "Summer 2026" --dry-run --json"#),
        .no("tapes duplicate Winter"), .ok(#"tapes duplicate "Summer 2026""#),
        .look(#"tapes remove "Summer 2026" 3 --dry-run"#),
        .look(#"tapes remove "Summer 2026" 3 --dry-run --json"#),
        .no(#"tapes remove "Summer 2026" 9"#), .prompted(#"tapes remove "Summer 2026" 3"#, "Remove it?"),
        .look(#"tapes export "Summer 2026" --output summer.m3u8 --dry-run"#),
        .look(#"tapes export "Summer 2026" --output summer.m3u8 --dry-run --json"#),
        .ok(#"tapes export "Summer 2026" --output summer.m3u8"#),
        .no(#"tapes export "Summer 2026" --output summer.m3u8"#),
        .look(#"tapes relink "Summer 2026" --in pictures --dry-run"#),
        .look(#"tapes relink "Summer 2026" --in pictures --dry-run --json"#), .no("tapes relink"),
        .ok(#"tapes relink "Summer 2026" --in pictures"#),
        .ok(#"tapes verify "Summer 2026""#), .no("tapes verify Winter"), .look(#"tapes verify "Summer 2026" --json"#),
        .look(#"tapes repair "Summer 2026" --dry-run"#), .look(#"tapes repair "Summer 2026" --dry-run --json"#),
        .no("tapes repair Winter"), .ok(#"tapes repair "Summer 2026""#),
        .ok("tapes reconcile --dry-run"), .no("tapes reconcile --apply --verify"), .look("tapes reconcile --json"),
        .keep("album", "album_id", of: #"tapes album show "Summer 2026""#),
        .ok(#"tapes album show "Summer 2026""#), .no("tapes album show Winter"),
        .look(#"tapes album show "Summer 2026" --json"#),
        .look(#"tapes album unlink "Summer 2026" --dry-run"#),
        .look(#"tapes album unlink "Summer 2026" --dry-run --json"#),
        .no("tapes album unlink Winter"), .ok(#"tapes album unlink "Summer 2026""#),
        .look(#"tapes album link "Summer 2026" {album} --dry-run"#),
        .look(#"tapes album link "Summer 2026" {album} --dry-run --json"#),
        .no(#"tapes album link "Summer 2026" 00000000-0000-4000-8000-000000000000"#),
        .ok(#"tapes album link "Summer 2026" {album}"#),
        .look(#"tapes delete "Summer 2026" --dry-run"#), .look(#"tapes delete "Summer 2026" --dry-run --json"#),
        .no(#"tapes delete "Summer 2026""#), .no("tapes delete Winter --yes"),
        .prompted(#"tapes delete "Summer 2026""#, "Delete it?"),
    ]

    private static let program: [TranscriptStep] = [
        .table("config show"), .no("config show --profile stage"), .look("config show --json"),
        .ok("help exit-codes"), .no("help uplods"), .look("help exit-codes --json"),
    ]
}
