/// What the fuzzer calls, and what the gate replays the corpora through: every parser of bytes that others have made.
///
/// Nothing here may crash, whatever the bytes, and each check also holds the parsers to what they promise. One input goes to
/// all parsers of its entry, as one answer may come to any question.
public enum FuzzEntry: String, CaseIterable, Sendable {
    /// The answers of a GigHive server: to an upload, a deletion, the listing. JSON, an HTML page with JSON in it, or what is
    /// left of either.
    case response = "FuzzReply"
    /// The value of a header field, as `Retry-After`, `Content-Type` and `Location`, or a link that somebody was sent.
    case headerField = "FuzzHeaders"
    /// The answers of a PhotoSync server.
    case photoPage = "FuzzPages"
    /// The answers of a capture server, and what comes with a capture: kept bodies, assertions, keys, signatures.
    case capture = "FuzzCaptures"
    /// The content of a photo, a recording or a depth map.
    case media = "FuzzMedia"
    /// Files that people write: settings, netrc, tables and lists of files, reports, exported tokens.
    case document = "FuzzDocuments"
    /// Libraries of tapes: manifests of albums, the answers of an Immich server, what ffmpeg says.
    case library = "FuzzLibraries"
}

// Most parsers are internal to their modules, so that this reads them as tests do: in debug builds, and in those of
// `make fuzz`. In any other build there is nothing to call.
#if DEBUG || TESTABLE
    extension FuzzEntry {
        /// Feeds one input.
        ///
        /// - Parameter input: Any bytes.
        /// - Returns: The promise that was broken; nil when all is well.
        public func check(_ input: [UInt8]) -> String? {
            switch self {
            case .response: ResponseEntry.check(input)
            case .headerField: HeaderEntry.check(String(decoding: input, as: UTF8.self))
            case .photoPage: PhotoEntry.check(input)
            case .capture: CaptureEntry.check(input)
            case .media: MediaEntry.check(input)
            case .document: DocumentEntry.check(input)
            case .library: LibraryEntry.check(input)
            }
        }
    }

    /// Shapes that several parsers promise.
    enum Shape {
        /// 64 hexadecimal digits in lower case.
        static func isSHA256(_ text: String) -> Bool { text.utf8.count == 64 && isLowerCaseHexadecimal(text) }

        /// A UUID in lower case.
        static func isUUID(_ text: String) -> Bool {
            let groups = text.split(separator: "-", omittingEmptySubsequences: false)
            return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy(isLowerCaseHexadecimal)
        }

        /// Nothing in it steers a terminal.
        static func isPrintable(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) }
        }

        /// Not longer than a sentence that is shown.
        static func isShort(_ text: String) -> Bool { text.count <= 400 }

        private static func isLowerCaseHexadecimal(_ text: some StringProtocol) -> Bool {
            text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        }
    }
#endif
