/// Commands that are run one after the other on one machine with one server; the requests from each are compared with
/// those from 0.1.0.
struct RequestScript: Sendable {
    /// One command.
    struct Step: Sendable {
        /// As typed, words separated by spaces; `{name}` is a value that an earlier step kept.
        var line: String
        /// Faults of the server, as for `--fault`, for this step only.
        var faults: [String] = []
        /// Environment variables of this step.
        var environment: [String: String] = [:]
        /// The key whose value in the first record is kept under the key's name.
        var kept: String?
    }

    /// Name of its recording in `fixtures/guard-0.1.0/requests`.
    var name: String
    /// More arguments for the server.
    var arguments: [String] = []
    var steps: [Step]

    static let all = [uploads, resumable, guests, photos, captures]

    static let uploads = RequestScript(
        name: "uploads",
        steps: [
            Step(line: "upload first.mp4 --event-date 2026-06-14 --org-name Larks --participants Ann --keywords live"),
            Step(
                line:
                    "upload second.mp4 third.mp4 --jobs 1 --event-date 2026-06-14 --location Hall --rating 7 --notes n"
            ),
            Step(line: "upload first.mp4 --event-date 2026-06-14 --org-name Larks"),
            Step(line: "upload fourth.mp4 --event-date 2026-06-14", faults: ["upload:status=400"]),
            Step(
                line: "upload fifth.mp4 --event-date 2026-06-14 --settle-timeout 1s",
                faults: ["upload:drop-response", "listing:status=500"]
            ),
            Step(line: "uploads status"),
            Step(line: "uploads list"), Step(line: "uploads show 1"),
            Step(line: "uploads delete 1 --yes"),
            Step(line: "uploads delete 2 3 --yes"),
            Step(
                line: "uploads delete 5 --yes --as-admin",
                environment: ["MEDIACTL_USER": "admin", "MEDIACTL_PASSWORD": "admin"]
            ),
            Step(line: "doctor"),
            Step(line: "smoke"),
        ]
    )

    static let resumable = RequestScript(
        name: "resumable",
        steps: [
            Step(line: "upload first.mp4 --transport tus --event-date 2026-06-14 --org-name Larks"),
            Step(
                line: "upload long.mp4 --transport tus --chunk-size 64K --event-date 2026-06-14",
                faults: ["tus-patch:reset,after=100,skip=1"]
            ),
            Step(line: "uploads status"),
            Step(line: "uploads resume --all"),
            Step(
                line: "upload longer.mp4 --transport tus --chunk-size 64K --event-date 2026-06-14",
                faults: ["tus-patch:reset,after=100,skip=1"]
            ),
            Step(line: "uploads status --json", kept: "upload_id"),
            Step(line: "uploads discard {upload_id} --yes"),
        ]
    )

    static let guests = RequestScript(
        name: "guests",
        arguments: ["--event-link-token", String(repeating: "L", count: 43) + "=2026-03-01,Larks,band"],
        steps: [
            Step(line: "upload first.mp4 --event-link-file link.txt --accept-terms --label First --display-name Ann"),
            Step(line: "uploads status"),
        ]
    )

    static let photos = RequestScript(
        name: "photos",
        steps: [
            Step(line: "login --api-key-file key.txt --device-name Studio"),
            Step(line: "sync push Pictures --dry-run"),
            Step(line: "sync push Pictures --jobs 1"),
            Step(line: "sync pull"), Step(line: "sync pull"), Step(line: "sync pull --full"),
            Step(line: "sync status"), Step(line: "sync list"),
            Step(line: "sync download --missing --to copies --jobs 1"),
            Step(line: "sync verify"),
            Step(line: "claim-legacy --list"), Step(line: "claim-legacy --all --yes"),
            Step(line: "logout"),
        ]
    )

    static let captures = RequestScript(
        name: "captures",
        steps: [
            Step(line: "hash-only register"),
            Step(
                line: "hash-only send square.jpg --depth square.f32 --depth-size 3x3 --captured-at 2026-06-13T12:00:00Z"
            ),
            Step(line: "hash-only send round.jpg --no-depth --location 52.5,13.4", faults: ["capture:status=503"]),
            Step(line: "hash-only retry --all"),
            Step(line: "hash-only send full.jpg --depth square.f32 --depth-size 3x3 --send-media"),
            Step(line: "hash-only verify square.jpg"),
            Step(line: "hash-only list"),
        ]
    )
}
