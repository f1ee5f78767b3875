internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaFiles
internal import MediaTransport

/// What `hash-only send` does with files.
struct SubmissionRun: Sendable {
    /// What is done with each.
    enum Kind: Sendable {
        case proof
        /// The media goes as well.
        case media
        /// Nothing goes.
        case preview
    }

    let settings: SettingsSession
    let requests: [CaptureRequest]
    let kind: Kind
    let writesProgressRecords: Bool

    private var console: Console { settings.console }
    private var profile: CaptureProfile { settings.settings.captureProfile.value }

    /// Writes every record, text and summary.
    ///
    /// - Returns: How the program ends.
    /// - Throws: `Diagnosis`, `StoreError`, `TransportError`, `CaptureError` for what ends the run as a whole.
    func run() async throws -> ExitCode {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        if kind == .media, requests.contains(where: { $0.settings.isPrivacyModeEnabled }) {
            throw CaptureError(.privacyModeOn)
        }
        console.record(
            .start,
            [
                "server": .string(server.description), "profile": .string(profile.rawValue),
                "dry_run": .bool(kind == .preview), "send_media": .bool(kind == .media),
                "items": JSONValue(requests.count),
            ]
        )
        try console.requireOutput()
        if let time = requests.first?.facts.capturedAt, time > console.context.now() {
            console.warning("--captured-at is in the future; check the year, the zone, and this machine's clock")
        }
        guard kind != .preview else {
            return try await settings.withReadOnlyCaptures { try await run($0, server.description) }
        }
        let stage = try CaptureStage.open(settings)
        try await stage.adopt()
        return try await run(stage, server.description)
    }

    private func run(_ stage: CaptureStage, _ server: String) async throws -> ExitCode {
        let session = try kind == .preview ? stage.session() : stage.confidential(try stage.session())
        let run = CaptureRun(settings, writesRecords: writesProgressRecords)
        let isDone = await run.run(requests.map { job($0, session, server) }) { tell($0) }
        return run.conclude(
            isDone: isDone,
            ["server": .string(server), "dry_run": .bool(kind == .preview), "send_media": .bool(kind == .media)]
        )
    }

    private func job(_ request: CaptureRequest, _ session: CaptureSession, _ server: String) -> CaptureRun.Job {
        let path: [UInt8]? = if case .file(let path) = request.subject { path } else { nil }
        return CaptureRun.Job(path: path, readsMedia: path != nil) { [kind, console] control, progress in
            switch kind {
            case .preview: return CaptureItem(try await session.preview(request), path: path)
            case .proof:
                return CaptureItem(
                    try await session.capture(request, control: control, progress: progress),
                    path: path
                )
            case .media:
                // Said before it goes: nobody sends media by accident.
                console.warning(
                    "\(path.map { ErrorCatalogue.quoted($0) } ?? "the media") itself leaves for "
                        + "\(ErrorCatalogue.clean(server)), with its depth map and metadata"
                )
                let outcome = try await session.sendMedia(request, control: control) {
                    progress($0.bytesAcknowledged, $0.bodyByteCount)
                }
                return CaptureItem(outcome, path: path)
            }
        }
    }

    // MARK: Telling

    private func tell(_ item: CaptureItem) {
        console.result(JSONRenderer.captureItem(item), lines(for: item))
        if let preview = item.preview {
            explain(preview, item)
        }
        for notice in item.notices where item.preview == nil || !notice.isInDisclosure {
            let words = requests.count > 1 ? "\(item.name): \(notice.words)" : notice.words
            if notice.isWarning { console.warning(words) } else { console.note(words) }
        }
        if let error = item.error, item.state != .cancelled {
            console.error(requests.count > 1 ? item.path.map { error.naming($0) } ?? error : error)
        }
    }

    private func lines(for item: CaptureItem) -> [String] {
        guard let preview = item.preview else { return TextRenderer.capture(item, style: console.outputStyle) }
        let body = String(decoding: preview.body.bytes, as: UTF8.self)
        // On a terminal nothing in it may steer; elsewhere it is what is sent, byte for byte.
        return [console.context.terminal.isOutputTerminal ? JSONText.escapedForTerminals(body) : body]
    }

    private func explain(_ preview: CapturePreview, _ item: CaptureItem) {
        guard !console.isQuiet else { return }
        let size = preview.body.bytes.count
        console.note("\(item.name) would be told as above, \(size) bytes; the assertion is a placeholder")
        console.note("what leaves:")
        let isTimeNamed = requests.allSatisfy { $0.facts.capturedAt != nil }
        console.announce(CaptureDisclosure.lines(preview.payload, profile, isTimeNamed: isTimeNamed))
        if let earlier = preview.earlierID {
            console.note("the same bytes are kept already, as \(ErrorCatalogue.clean(String(earlier.prefix(8))))")
        }
    }
}
