internal import Glibc
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// The file of an import.
enum ImportFile {
    /// Far more than a store that anybody has: some 400,000 entries.
    private static let limit = 256 << 20

    /// The content of a file.
    enum Content: Sendable {
        /// An export of `mediactl uploads export`.
        case export([TokenEntry])
        /// The tokens of the server's upload page.
        case web(WebTokens)
    }

    /// Reads and understands the whole file.
    ///
    /// - Parameters:
    ///   - file: A path, or `-` for standard input.
    ///   - standardInput: Its descriptor.
    ///   - isWeb: Whether it must contain the tokens of the upload page; otherwise the format is detected.
    /// - Returns: The content of the file.
    /// - Throws: `Diagnosis`; it never repeats what a line holds.
    static func content(of file: String, standardInput: Int32, isWeb: Bool) throws(Diagnosis) -> Content {
        let path = RawArguments.bytes(of: file)
        let name = file == "-" ? "standard input" : ErrorCatalogue.quoted(path)
        let bytes: [UInt8]
        do throws(WholeInput.Failure) {
            bytes =
                file == "-"
                ? try WholeInput.all(from: standardInput, limit: limit) : try WholeInput.all(at: path, limit: limit)
        } catch {
            throw unreadable(name, error)
        }
        if let web = WebTokens(bytes) { return .web(web) }
        guard !isWeb else {
            throw Diagnosis(
                "invalid_import",
                "\(name) does not contain the tokens of an upload page",
                hint: "copy them in the page's developer console: copy(localStorage.\(WebTokens.storageKey))",
                exitCode: .usage
            )
        }
        do throws(TokenExportError) {
            return .export(try TokenExport.entries(in: bytes, scope: scope))
        } catch {
            throw Diagnosis(
                "invalid_import",
                "\(name), line \(error.line): \(error.reason)",
                hint: "nothing was imported; the file must be an unmodified export of mediactl uploads export",
                exitCode: .usage
            )
        }
    }

    /// The same rules as for the server of a request, so that a token never goes to another host than it came from.
    private static func scope(of baseURL: String) -> String? {
        guard let server = try? ServerURL(baseURL), !server.assumedScheme else { return nil }
        return server.scope
    }

    /// The error in words.
    static func unreadable(_ name: String, _ failure: WholeInput.Failure) -> Diagnosis {
        switch failure {
        case .system(let code):
            Diagnosis(
                code == ENOENT ? "file_not_found" : "file_unreadable",
                "cannot read \(name): \(code == ENOENT ? "no such file" : SystemError.words(code))",
                hint: code == ENOENT ? ErrorCatalogue.missingHint : nil,
                exitCode: .usage
            )
        case .tooLarge:
            Diagnosis("file_too_large", "\(name) is larger than \(limit >> 20) MiB", exitCode: .usage)
        case .cancelled: Diagnosis("cancelled", "canceled", exitCode: .interrupt)
        }
    }
}
