internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// The bytes of one upload, open for reading.
struct OpenFile: Sendable {
    private let source: UploadSource
    private let file: SourceFile?
    private let descriptor: Int32
    let byteCount: Int64
    /// Before any of it was read.
    let openedAt = Date()
    /// Noticed in the first bytes.
    let warnings: [UploadWarning]

    /// Opens the source again and makes sure that it still is what was checked.
    ///
    /// - Throws: `GigHiveError` with `.sourceChanged`, or why it cannot be opened.
    init(_ upload: PreparedUpload) throws(GigHiveError) {
        source = upload.source
        switch upload.source {
        case .file(let path):
            do {
                let file = try SourceFile(path: path)
                self.file = file
                descriptor = file.descriptor
                byteCount = file.status.size
                guard file.status == upload.identity else {
                    throw GigHiveError(
                        .sourceChanged,
                        detail: "the file has changed since it was checked",
                        path: path
                    )
                }
            } catch let error as SourceFileError {
                throw .source(error)
            } catch let error as GigHiveError {
                throw error
            } catch {
                throw GigHiveError(.fileUnreadable, detail: "\(error)", path: path)
            }
        case .spooled(let spool, _):
            file = nil
            descriptor = spool.descriptor
            byteCount = spool.byteCount
        }
        let prefix = Self.prefix(of: descriptor, MediaType.prefixCount)
        warnings = MediaType.mismatch(fileName: upload.fileName, prefix: prefix).map { [$0] } ?? []
    }

    /// Whether descriptor and path still show the file that was opened.
    var isUnchanged: Bool {
        guard let file else { return true }
        return (try? file.currentStatus()) == file.status
    }

    /// The content for one try, over a descriptor of its own: the transport closes what it gets.
    ///
    /// - Throws: `GigHiveError` when the process has no descriptor left.
    func content(path: [UInt8]) throws(GigHiveError) -> FileContent {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw GigHiveError(.fileUnreadable, detail: SystemError.words(errno), path: path)
        }
        return FileContent(owning: copy, byteCount: byteCount)
    }

    /// The first bytes of an open file, at most `count`; fewer when reading fails, because they only hint at a type.
    static func prefix(of descriptor: Int32, _ count: Int) -> [UInt8] {
        (try? FileBytes.read(descriptor, at: 0, count: count)) ?? []
    }
}
