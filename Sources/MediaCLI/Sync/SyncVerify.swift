internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import PhotoSync
internal import Synchronization

struct SyncVerify: ServerCommand {
    static let schema = "mediactl.sync-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare server, index and local copies without changing them.",
        discussion: """
            Lists all photos on the server again. Without --server-files or --server-content, the files on the server are not \
            checked. A changed copy is reported until the photo's own bytes are on this machine again, and the changed file \
            was uploaded (sync push --changed) or removed. Exits with 3 if there are differences.

            Examples:
              mediactl sync verify
              mediactl sync verify --read-content
              mediactl sync verify --server-files
            """
    )

    @Flag(help: "Read all local files, even those with a cached checksum.")
    var readContent = false

    @Flag(
        help: """
            Check that the server has a file of a plausible length for each photo: requests one byte from each file. \
            --server without an address has the same effect.
            """
    )
    var serverFiles = false

    @Flag(help: "Download each photo, and verify its content.")
    var serverContent = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection).waiting()
        let account = try await session.account(key)
        let hashes = session.settings.hashCache()
        let serverCheck = serverCheck(session.settings.locations.cacheDirectory)
        try console.start([
            "server": .string(account.server), "read_content": .bool(readContent),
            "server_check": .string(serverCheck.word),
        ])
        let run = LongRun<PullProgress>(console)
        let statistics = VerifyStatistics()
        return try await console.context.interruption.handling({ _ in }) {
            let verification = Verification(
                account,
                hashes: hashes,
                readsContent: readContent,
                serverCheck: serverCheck
            )
            let result = try await run.run(reporting: { (difference: SyncDifference) in
                statistics.add(difference)
                console.result(difference)
            }) { dependencies in
                try await verification.run(
                    control: dependencies.control,
                    onDifference: dependencies.onItem,
                    progress: dependencies.progress
                )
            }
            let ending = console.ending(result == nil || statistics.kinds.total > 0 ? .partly : .success)
            if let result {
                console.note(
                    "\(Formats.count(result.photos, "photo")) and "
                        + "\(result.copies == 1 ? "1 copy" : "\(result.copies) copies") compared, "
                        + (statistics.kinds.total == 0
                            ? "no differences" : Formats.count(statistics.kinds.total, "difference"))
                )
                console.note(serverCheck.scope(of: result))
                advise(statistics, on: console)
            }
            let summary: JSONObject = [
                "server": .string(account.server), "complete": .bool(result != nil),
                "photos": JSONValue(result?.photos), "copies": JSONValue(result?.copies),
                "server_files": JSONValue(result?.serverFiles), "items": JSONValue(statistics.kinds.total),
            ]
            return ending.runSummary(summary + statistics.kinds.json, after: run.display.elapsed)
        }
    }

    /// `--server` without an address means `--server-files`: users are likely to try this name, and an address never
    /// starts with a hyphen.
    static func namingServerFiles(in arguments: [String]) -> [String] {
        guard let sync = arguments.firstIndex(of: "sync"), arguments.dropFirst(sync + 1).first == "verify" else {
            return arguments
        }
        let end = arguments.firstIndex(of: "--") ?? arguments.count
        var named = arguments
        for index in sync..<max(sync, end) where arguments[index] == "--server" {
            let isLast = index + 1 == arguments.count
            if isLast || arguments[index + 1].hasPrefix("-") { named[index] = "--server-files" }
        }
        return named
    }

    private func serverCheck(_ cacheDirectory: String) -> ServerCheck {
        if serverContent { return .content(in: cacheDirectory) }
        return serverFiles ? .lengths : .none
    }

    /// Prints the commands that repair the differences.
    private func advise(_ statistics: VerifyStatistics, on console: Console) {
        func has(_ kinds: SyncDifference.Kind...) -> Bool { kinds.contains { statistics.kinds.count($0) > 0 } }
        if has(.notIndexed, .notOnServer, .changedOnServer, .originChanged) {
            console.note("update the index with: mediactl sync --full")
        }
        if has(.copyMissing, .copyUnfinished, .copyUnverified) {
            console.note("download missing copies again with: mediactl sync download --missing --output DIR")
        }
        if has(.copyOrphaned) {
            console.note(
                "some photos were deleted on the server; to upload them again: mediactl sync push --restore PATH; "
                    + "to accept their deletion: mediactl sync forget PATH"
            )
        }
        if has(.copyUnreadable) {
            console.note("unreadable copies were not compared; check their permissions and their disk")
        }
        let changed = statistics.changed
        if !changed.isEmpty {
            // If there are more photos, the lines above show their IDs.
            let ids = changed.count > Continuation.maximumPaths ? ["ID"] : changed.map { ShellWord.quoted($0) }
            console.note(
                "changed copies were edited or are damaged; download the photos again, under different names, with: "
                    + "mediactl sync download \(ids.joined(separator: " ")) --output DIR"
            )
        }
        let edited = statistics.edited
        if !edited.isEmpty {
            let paths = edited.count > Continuation.maximumPaths ? ["PATH"] : edited.map { ShellWord.quoted($0) }
            console.note(
                "the original photos of changed copies are intact in other files; remove damaged copies or upload "
                    + "edited ones with: mediactl sync push --changed \(paths.joined(separator: " "))"
            )
        }
        if has(.serverMissing, .serverEmpty, .serverLength, .serverDamaged) {
            // The suggested command must perform the same checks as this one to find the same photos.
            let flag = has(.serverDamaged) ? " --server-content" : ""
            console.note(
                "keep the local copies of these photos; upload local originals again with: mediactl sync repair" + flag
            )
        }
        if has(.uploadedDamaged) {
            console.note(
                "photos that were damaged before their upload are not repaired; restore the local files from a backup, and "
                    + "upload them with: mediactl sync push --changed PATH"
            )
        }
        if has(.serverUnverified) {
            console.note("server files that cannot be verified are not repaired; keep the local copies of these photos")
        }
    }
}

/// Counts differences and stores the values needed for hints.
private final class VerifyStatistics: Sendable {
    let kinds = ItemStatistics<SyncDifference.Kind>()
    private let photos = Mutex<(changed: Set<String>, orphaned: Set<String>)>(([], []))
    private let intact = Mutex<[[UInt8]]>([])

    /// The photos still on the server that have a changed copy but no intact copy.
    var changed: [String] { photos.withLock { $0.changed.sorted() } }
    /// The changed copies of photos with an intact copy.
    var edited: [[UInt8]] { intact.withLock { $0.sorted { $0.lexicographicallyPrecedes($1) } } }

    func add(_ difference: SyncDifference) {
        kinds.add(difference.kind, .partly)
        if difference.hasIntactCopy, let path = difference.path {
            intact.withLock { $0.append(path) }
            return
        }
        photos.withLock { photos in
            switch difference.kind {
            case .copyOrphaned: photos.orphaned.insert(difference.photoID)
            case .copyChanged where !photos.orphaned.contains(difference.photoID):
                photos.changed.insert(difference.photoID)
            default: break
            }
        }
    }
}

extension ServerCheck {
    /// Downloads photos to the cache directory and keeps nothing there.
    static func content(in cacheDirectory: String) -> ServerCheck {
        .contents(scratch: Array("\(cacheDirectory)/verify".utf8))
    }

    var word: String {
        switch self {
        case .none: "none"
        case .lengths: "length"
        case .contents: "content"
        }
    }

    /// The scope of the comparison: a success must not imply more than was checked.
    fileprivate func scope(of result: VerificationResult) -> String {
        switch self {
        case .none:
            "compared the listing, the index and local copies; to check the files on the server: "
                + "mediactl sync verify --server-files"
        case .lengths:
            "checked existence and length of \(Formats.count(result.serverFiles, "file")) on the server, not the content"
        case .contents: contentScope(of: result)
        }
    }

    /// Counts only files whose bytes were verified.
    private func contentScope(of result: VerificationResult) -> String {
        let others: [(kind: SyncDifference.Kind, words: String)] = [
            (.serverMissing, "missing"), (.serverEmpty, "empty"), (.serverLength, "with the wrong length"),
            (.serverDamaged, "damaged"), (.uploadedDamaged, "damaged before the upload"),
            (.serverUnverified, "not verifiable"),
        ]
        let found = others.filter { result.counts[$0.kind, default: 0] > 0 }
        let count = found.reduce(0) { $0 + Int64(result.counts[$1.kind, default: 0]) }
        let words = found.map { "\(result.counts[$0.kind, default: 0]) \($0.words)" }
        return "downloaded and verified \(Formats.count(result.serverFiles - count, "file")) from the server"
            + (words.isEmpty ? "" : "; others: " + words.joined(separator: ", "))
    }
}

extension SyncDifference: RunItem {
    var json: JSONObject {
        [
            "kind": .string(kind.rawValue), "photo_id": .string(photoID),
            "path": .path(path), "expected": JSONValue(expected),
            "found": JSONValue(found), "uploaded_as": JSONValue(uploadedAs),
        ]
    }

    func text(_ style: Style) -> [String] {
        let kind = kind.rawValue.replacing("_", with: " ")
        let what = path.map { TerminalText.escaped($0) } ?? TerminalText.escaped(photoID)
        let id = self.kind == .copyChanged ? ["ID \(TerminalText.escaped(photoID))"] : []
        let values = id + (uploadedAs.map { ["uploaded as photo \(TerminalText.escaped($0))"] } ?? []) + comparison
        let padded = kind.padding(toLength: 17, withPad: " ", startingAt: 0)
        return ["\(style.yellow(padded))  \(what)" + (values.isEmpty ? "" : "  (\(values.joined(separator: ", ")))")]
    }

    /// Shows names and reasons; digests are only in JSON.
    private var comparison: [String] {
        switch kind {
        case .notIndexed, .notOnServer: [found ?? expected].compactMap { $0.map { TerminalText.escaped($0) } }
        // The name and the reason.
        case .serverMissing, .serverEmpty, .serverDamaged, .uploadedDamaged, .serverUnverified:
            [expected, found].compactMap { $0.map { TerminalText.escaped($0) } }
        default:
            [("expected", expected), ("found", found)]
                .compactMap { name, value in value.map { (name, $0) } }
                .filter { $0.1.wholeMatch(of: /[0-9a-f]{64}/) == nil }
                .map { "\($0.0) \(TerminalText.escaped($0.1))" }
        }
    }
}
