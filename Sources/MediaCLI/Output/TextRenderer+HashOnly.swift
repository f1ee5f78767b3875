internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// What `hash-only` says on standard output. Failures are said on standard error. Assertions, places and whole hashes are
/// left to JSON (hash-only contract, trap 25).
extension TextRenderer {
    static func capture(_ item: CaptureItem, style: Style) -> [String] {
        guard let record = item.record else {
            return item.state == .cancelled ? ["\(item.resultName): not done"] : []
        }
        let id = brief(record.id)
        switch item.state {
        case .accepted where item.isKnown:
            return ["\(item.resultName): accepted before, as \(id)"] + address(of: record)
        case .accepted:
            let level = record.keyLevel.map { ", level \(TerminalText.escaped($0))" } ?? ""
            return ["\(style.green("accepted")) \(item.resultName) as \(id) (hash \(brief(record.mediaHash))\(level))"]
                + address(of: record)
        case .pending, .queued, .submitted, .unknownOutcome:
            return [
                "\(item.resultName): \(words(for: record.state))",
                "  goes on with: mediactl hash-only retry \(id)\(item.needsResend ? " --resend" : "")",
            ]
        case .rejected: return ["\(item.resultName): rejected; kept as \(id)"]
        case .planned, .failed, .cancelled: return []
        }
    }

    private static func address(of record: CaptureRecord) -> [String] {
        record.verificationURL.map { ["  \(TerminalText.escaped($0))"] } ?? []
    }

    static func words(for state: CaptureRecord.State) -> String {
        switch state {
        case .pending: "not signed"
        case .queued: "to be sent"
        case .submitted: "on its way"
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unknownOutcome: "unknown outcome"
        }
    }

    /// The table of `hash-only list`.
    static func captures(_ records: [CaptureRecord], now: Date, width: Int?, style: Style) -> [String] {
        guard !records.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "ID"), .init(title: "STATE"), .init(title: "LEVEL", dropOrder: 3),
            .init(title: "HASH", dropOrder: 1), .init(title: "SIZE", alignment: .right, dropOrder: 2),
            .init(title: "MADE", dropOrder: 4), .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
            .init(title: "SERVER", isFlexible: true, minimumWidth: 12, dropOrder: 5),
        ])
        table.rows = records.map { record in
            [
                brief(record.id), record.mode == nil ? "local only" : words(for: record.state),
                TerminalText.escaped(record.keyLevel ?? "-"), brief(record.mediaHash),
                record.mediaBytes.map { Formats.bytes($0) } ?? "-", Formats.age(of: record.createdAt, now: now),
                record.path.map { TerminalText.escaped($0) } ?? (record.isObserved ? "-" : "not observed"),
                // As in the list of uploads: the host.
                TerminalText.escaped(record.server.replacing(/^https?:\/\//, with: "")),
            ]
        }
        return table.lines(fitting: width, style: style)
    }

    /// Everything about one capture but its body.
    static func capture(_ record: CaptureRecord, now: Date, style: Style) -> [String] {
        let seen =
            record.isObserved
            ? "in the vault, encrypted" + (record.hasDepth ? "; its depth map too" : "") : "never seen here"
        let failure = record.errorCode.map { code in
            record.errorDetail.map { $0.isEmpty ? code : "\(code): \($0)" } ?? code
        }
        let fields: [(String, String?)] = [
            ("id", record.id), ("server", record.server), ("profile", record.profile),
            ("mode", record.mode?.rawValue ?? "none; local only"), ("state", words(for: record.state)),
            ("last error", record.state == .accepted ? nil : failure),
            ("file", record.path.map { TerminalText.escaped($0) }),
            ("media", "\(record.mediaType), \(record.mediaBytes.map { "\($0) bytes" } ?? "length not known")"),
            ("copy", seen), ("sha-256", record.mediaHash), ("level", record.keyLevel ?? "-"),
            ("device", record.deviceID ?? "-"), ("counter", record.counter.map { "\($0)" } ?? "-"),
            ("body", (record.body ?? record.unsignedBody).map { "\($0.count) bytes" } ?? "-"),
            ("made", time(record.createdAt, now: now)),
            ("sent", record.submittedAt.map { time($0, now: now) } ?? "-"),
            ("times sent", "\(record.submissions)"), ("server's id", record.serverCaptureID ?? "-"),
            ("public page", record.verificationURL ?? "-"),
        ]
        return self.fields(fields.compactMap { name, value in value.map { (name, $0) } }, style)
    }

    /// What `hash-only verify` found.
    static func verification(_ verification: CaptureVerification, style: Style) -> [String] {
        verification.findings.map { check, finding in
            let name = check.rawValue.replacing("_", with: " ")
            func because(_ reason: String) -> String {
                name.padding(toLength: 11, withPad: " ", startingAt: 0) + TerminalText.escaped(reason)
            }
            return switch finding {
            case .passed: "\(style.green("ok"))    \(name)"
            case .failed(let reason): "\(style.red("FAIL"))  \(because(reason))"
            case .skipped(let reason): "\(style.dim("skip"))  \(because(reason))"
            }
        }
    }

    /// The table of `hash-only settings`, by the names that `set` takes.
    static func privacy(_ settings: PrivacySettings, style: Style) -> [String] {
        var table = Table(columns: [.init(title: "SETTING"), .init(title: "VALUE")])
        table.rows = PrivacyKey.allCases.map { [$0.rawValue, $0.value(in: settings)] }
        return table.lines(fitting: nil, style: style)
    }
}

extension CaptureItem {
    /// Whether only a deliberate resend can go on: the server cannot be asked (hash-only contract 1.3), or signing has
    /// failed too often (section 8).
    var needsResend: Bool {
        switch state {
        case .unknownOutcome: record?.profile == CaptureProfile.reference.rawValue
        case .pending: (record?.signingFailures ?? 0) >= CaptureSession.signingLimit
        default: false
        }
    }
}
