internal import Glibc
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// The file of an import.
enum ImportFile {
    /// Far more than a store that anybody has: some 400,000 entries.
    private static let limit = 256 << 20

    /// Reads and understands the whole file.
    ///
    /// - Throws: `Diagnosis`; it never repeats what a line holds.
    static func entries(of file: String, standardInput: Int32) throws(Diagnosis) -> [TokenEntry] {
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
        do throws(TokenExportError) {
            return try TokenExport.entries(in: bytes, scope: scope)
        } catch {
            throw Diagnosis(
                "invalid_import",
                "\(name), line \(error.line): \(error.reason)",
                hint: "nothing was imported; the file must be as mediactl uploads export wrote it",
                exitCode: .usage
            )
        }
    }

    /// The same rules as for the server of a request, so that a token never goes to another host than it came from.
    private static func scope(of baseURL: String) -> String? {
        guard let server = try? ServerURL(baseURL), !server.assumedScheme else { return nil }
        return server.scope
    }

    private static func unreadable(_ name: String, _ failure: WholeInput.Failure) -> Diagnosis {
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
        case .cancelled: Diagnosis("cancelled", "cancelled", exitCode: .interrupt)
        }
    }
}
