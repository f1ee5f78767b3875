internal import CaptureSubmission
internal import Foundation
internal import GigHive
internal import MediaTransport
internal import Outcomes

/// The name of a setting in the settings file. Flags and environment variables are derived from it.
struct SettingKey: RawRepresentable, CaseIterable, Hashable, Sendable {
    let rawValue: String

    static let server = Self("server")
    static let uploadsURL = Self(addressOf: .gigHive)
    static let syncURL = Self(addressOf: .photoSync)
    static let captureURL = Self(addressOf: .captures)
    static let libraryURL = Self(addressOf: .immich)
    static let user = Self("user")
    static let caFile = Self("cacert")
    static let pinnedKey = Self("pinned_key")
    static let insecure = Self("insecure")
    static let allowHTTP = Self("allow_http")
    static let http2 = Self("http2")
    static let connectTimeout = Self("connect_timeout")
    static let stallTimeout = Self("stall_timeout")
    static let responseTimeout = Self("response_timeout")
    static let finishTimeout = Self("finish_timeout")
    static let settleTimeout = Self("settle_timeout")
    static let limitRate = Self("limit_rate")
    static let retries = Self("retries")
    static let fullInterval = Self("full_interval")
    static let maxBytes = Self("max_bytes")
    static let contact = Self("contact")
    static let orgName = Self("org_name")
    static let eventType = Self("event_type")
    static let color = Self("color")
    static let jobs = Self("jobs")
    static let transport = Self("transport")
    static let chunkSize = Self("chunk_size")
    static let captureProfile = Self("capture_profile")
    static let captureRPID = Self("capture_rp_id")
    static let albumsEnabled = Self("albums.enabled")
    static let albumsLibrary = Self("albums.library")
    static let albumsFolderRoot = Self("albums.folder.root")
    static let albumsUpload = Self("albums.upload")
    static let deleteAssociatedAlbum = Self("features.deleteAssociatedAlbum")

    static var allCases: [SettingKey] { Settings.keys }

    private init(_ name: String) { rawValue = name }

    /// The setting that contains the address of a type of server.
    init(addressOf server: OutcomeTable.Server) { rawValue = server.setting ?? Self.server.rawValue }

    /// nil for an unknown name.
    init?(rawValue: String) {
        guard let key = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = key
    }

    /// For example `--stall-timeout`.
    var flag: String { self == .albumsLibrary ? "--library" : "--" + rawValue.replacing("_", with: "-") }

    /// For example `MEDIACTL_STALL_TIMEOUT`.
    var environmentVariable: String {
        self == .deleteAssociatedAlbum
            ? "MEDIACTL_FEATURE_DELETE_ALBUM" : "MEDIACTL_" + rawValue.replacing(".", with: "_").uppercased()
    }

    /// Old names that are still accepted, with the setting that replaces each.
    static let deprecated: [String: SettingKey] = ["answer_timeout": .responseTimeout]

    /// The old environment variable of the setting; nil if its name is unchanged.
    var deprecatedVariable: String? {
        Self.deprecated.first { $0.value == self }.map { "MEDIACTL_" + $0.key.uppercased() }
    }

    /// Whether the settings file requires a YAML boolean.
    var isBoolean: Bool {
        [.insecure, .allowHTTP, .http2, .albumsEnabled, .albumsUpload, .deleteAssociatedAlbum].contains(self)
    }

    /// Whether the value is a path; in the settings file, it is relative to the file's directory.
    var isPath: Bool { self == .caFile || self == .albumsFolderRoot }

    /// Names that are only groups: `albums`, `albums.folder` and so on.
    static let groups: Set<String> = Set(
        allCases.flatMap { key in
            let parts = key.rawValue.split(separator: ".")
            return parts.indices.dropFirst().map { parts[..<$0].joined(separator: ".") }
        }
    )

    /// The address of each type of server; it defaults to `server`.
    static let services = OutcomeTable.servers.filter { $0.setting != nil }.map(SettingKey.init(addressOf:))

    static let addresses: [SettingKey] = [.server] + services

    /// Sizes in bytes.
    static let sizes: [SettingKey] = [.limitRate, .maxBytes, .chunkSize]
}

enum SettingValue {
    static func text(_ text: String) throws(InvalidValue) -> String {
        guard !text.isEmpty else { throw InvalidValue(rule: "is empty") }
        return text
    }

    static func boolean(_ text: String) throws(InvalidValue) -> Bool {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: throw InvalidValue(rule: "is not valid; valid values: true, false")
        }
    }

    /// The number of retries.
    static func count(_ text: String) throws(InvalidValue) -> Int {
        guard Digits.only(text), let count = Int(text) else {
            throw InvalidValue(rule: "is not a non-negative whole number")
        }
        return count
    }

    /// Seconds, or a number with `s`, `m` or `h`; must be above 0.
    static func timeout(_ text: String) throws(InvalidValue) -> Duration {
        let duration = try timeoutOrZero(text)
        guard duration > .zero else { throw InvalidValue(rule: "is not a valid timeout: specify a number above 0") }
        return duration
    }

    /// Seconds, or a number with `s`, `m` or `h`.
    static func timeoutOrZero(_ text: String) throws(InvalidValue) -> Duration {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
        let factor = text.last.flatMap { units[$0] }
        let digits = factor == nil ? text[...] : text.dropLast()
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy(Digits.only), let number = Double(digits) else {
            throw InvalidValue(
                rule: "is not a duration",
                hint: "specify seconds, or a number with a unit, for example 30s, 5m or 1h"
            )
        }
        let seconds = number * (factor ?? 1)
        guard seconds <= 10 * 365 * 86_400 else { throw InvalidValue(rule: "is more than ten years") }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// The time between two full listings: a value as for `timeoutOrZero`, or days such as `7d`; nil for `never`.
    static func interval(_ text: String) throws(InvalidValue) -> Duration? {
        if text == "never" { return nil }
        guard text.hasSuffix("d") else { return try timeoutOrZero(text) }
        guard Digits.only(text.dropLast()), let days = Int64(text.dropLast()), days <= 3650 else {
            throw InvalidValue(
                rule: "is not a valid interval (maximum: 3650d)",
                hint: "use a value such as 7d or 12h, or never"
            )
        }
        return .seconds(days * 86_400)
    }

    /// Bytes, or a number with `K`, `M` or `G` (powers of 1024); at least 1.
    static func size(_ text: String) throws(InvalidValue) -> Int64 {
        let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let factor = text.uppercased().last.flatMap { units[$0] }
        let digits = factor == nil ? text[...] : text.dropLast()
        guard Digits.only(digits), let number = Int64(digits) else {
            throw InvalidValue(
                rule: "is not a number of bytes",
                hint: "specify bytes, or a number with a unit, for example 500K, 20M or 6G"
            )
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: factor ?? 1)
        guard !overflow else { throw InvalidValue(rule: "is too large") }
        guard bytes > 0 else { throw InvalidValue(rule: "is not a valid size: specify a number above 0") }
        return bytes
    }

    /// The shortest text that `size` reads as this number of bytes.
    static func sizeText(_ byteCount: Int64) -> String {
        for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] where byteCount > 0 && byteCount % (1 << shift) == 0 {
            return "\(byteCount >> shift)\(unit)"
        }
        return String(byteCount)
    }

    /// Bytes per second, in the format of `size`; `0` and `none` mean no limit.
    static func rate(_ text: String) throws(InvalidValue) -> Int64? {
        text == "0" || text == "none" ? nil : try size(text)
    }

    /// Number of parallel uploads. More than a few do not improve bandwidth use, and each upload occupies a server
    /// worker.
    static func jobs(_ text: String) throws(InvalidValue) -> Int {
        guard Digits.only(text), let count = Int(text), (1...16).contains(count) else {
            throw InvalidValue(rule: "is not a whole number from 1 to 16")
        }
        return count
    }

    /// Bytes, in the format of `size`, at least 64K: below that, the overhead of requests dominates.
    static func chunkSize(_ text: String) throws(InvalidValue) -> Int64 {
        let bytes = try size(text)
        guard bytes >= 64 << 10 else { throw InvalidValue(rule: "is less than 64K") }
        return bytes
    }

    static func absolutePath(_ text: String) throws(InvalidValue) -> String {
        guard text.hasPrefix("/") else { throw InvalidValue(rule: "is not an absolute path") }
        return text
    }

    /// `sha256//` and the base64 of 32 bytes; multiple pins are separated by `;` (libcurl, CURLOPT_PINNEDPUBLICKEY).
    static func pin(_ text: String) throws(InvalidValue) -> String {
        for pin in text.split(separator: ";", omittingEmptySubsequences: false) {
            guard pin.hasPrefix("sha256//"), Data(base64Encoded: String(pin.dropFirst(8)))?.count == 32 else {
                throw InvalidValue(rule: "is not a pin", hint: "a pin is sha256// and 44 characters of base64")
            }
        }
        return text
    }

    /// The address of a server without a path, as entered by the user.
    static func address(_ text: String) throws(InvalidValue) -> String {
        _ = try serverURL(text, allowingPath: false)
        return text
    }

    /// The address of a server that may have a path, as entered by the user.
    static func addressBelowPath(_ text: String) throws(InvalidValue) -> String {
        _ = try serverURL(text, allowingPath: true)
        return text
    }

    private static func serverURL(_ text: String, allowingPath: Bool) throws(InvalidValue) -> ServerURL {
        do {
            return try ServerURL(text, allowingPath: allowingPath)
        } catch {
            throw switch error {
            case .malformed(let reason):
                InvalidValue(rule: "is not an address: \(reason)", hint: "use the form https://media.example.org")
            case .unsupportedScheme:
                InvalidValue(rule: "is neither http nor https", hint: "use the form https://media.example.org")
            case .containsCredentials:
                InvalidValue(
                    rule: "the address contains a user name or a password",
                    hint: "remove them; use --user and --password-stdin, --password-file or netrc",
                    isSecret: true
                )
            case .containsPath(let suggestion):
                InvalidValue(rule: "must not contain a path", hint: "try \(suggestion)")
            }
        }
    }
}

/// The reason why a value is invalid. `rule` follows the quoted value in the message.
struct InvalidValue: Error {
    var rule: String
    var hint: String?
    /// Whether the value may contain a secret and must not be shown.
    var isSecret = false
}

extension InvalidValue {
    init(_ text: String, noneOf known: [String]) {
        rule = "is not valid; valid values: \(known.joined(separator: ", "))"
        hint = Spelling.hint(for: text, among: known)
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String
    ) throws(InvalidValue) -> Choice {
        guard let choice = Choice(rawValue: text) else {
            throw InvalidValue(text, noneOf: Choice.allCases.map(\.rawValue))
        }
        return choice
    }
}

/// Plain decimal digits; `Int` and `Double` accept other forms as well.
enum Digits {
    /// Whether a text consists of one or more ASCII digits.
    static func only(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
