/// The entry points of the fuzzer, through which the tests also replay the corpora: every parser of external bytes.
///
/// No input may crash a parser, and each check also verifies the parser's guarantees. One input is passed to all
/// parsers of its entry, since any response may follow any request.
public enum FuzzEntry: String, CaseIterable, Sendable {
    /// The responses of a GigHive server: to an upload, a deletion, or the listing. JSON, an HTML page with JSON in it,
    /// or a truncated form of either.
    case response = "FuzzReply"
    /// The value of a header field, such as `Retry-After`, `Content-Type` and `Location`, or an event link.
    case headerField = "FuzzHeaders"
    /// The responses of a PhotoSync server.
    case photoPage = "FuzzPages"
    /// The responses of a capture server, and data of a capture: stored bodies, assertions, keys, signatures.
    case capture = "FuzzCaptures"
    /// The content of a photo, a media file or a depth map.
    case media = "FuzzMedia"
    /// Files written by users: settings, netrc, tables and lists of files, reports, exported tokens.
    case document = "FuzzDocuments"
    /// Libraries of tapes: manifests of albums, the responses of an Immich server, the output of ffmpeg.
    case library = "FuzzLibraries"
}

// Most parsers are internal to their modules, so this file imports them as tests do: in debug builds, and in those of
// `make fuzz`. In other builds there are no parsers to call.
#if DEBUG || TESTABLE
    extension FuzzEntry {
        /// Runs all parsers of the entry on one input.
        ///
        /// - Parameter input: Any bytes.
        /// - Returns: The violated guarantee; nil if there is none.
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

    /// Formats that several parsers guarantee.
    enum Shape {
        /// 64 lowercase hexadecimal digits.
        static func isSHA256(_ text: String) -> Bool { text.utf8.count == 64 && isLowerCaseHexadecimal(text) }

        /// A lowercase UUID.
        static func isUUID(_ text: String) -> Bool {
            let groups = text.split(separator: "-", omittingEmptySubsequences: false)
            return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy(isLowerCaseHexadecimal)
        }

        /// The text contains nothing that controls a terminal.
        static func isPrintable(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) }
        }

        /// The text is no longer than a displayed message.
        static func isShort(_ text: String) -> Bool { text.count <= 400 }

        private static func isLowerCaseHexadecimal(_ text: some StringProtocol) -> Bool {
            text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        }
    }
#endif
