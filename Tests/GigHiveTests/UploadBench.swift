import Foundation
import MediaStore
import TestSupport

@testable import GigHive

/// A machine with a data directory and files to upload.
protocol UploadBench {
    var temporary: TemporaryDirectory { get }
    var store: TokenStore { get }
    var uploader: Uploader { get }
}

extension UploadBench {
    var directory: DataDirectory { uploader.directory }

    /// A file with this content.
    func file(_ content: String = "abc", name: String = "clip.mp4") throws -> [UInt8] {
        Array(try temporary.write(name, content.utf8).utf8)
    }

    func details(label: String = "one", date: String = "2026-03-01") throws(GigHiveError) -> UploadDetails {
        try UploadDetails.validated(eventDate: date, orgName: "Band", eventType: "band", label: label)
    }

    func prepare(_ path: [UInt8], label: String = "one", date: String = "2026-03-01") throws -> PreparedUpload {
        try uploader.prepare(path, details: try details(label: label, date: date))
    }

    /// The only row in the journal.
    func row() throws -> UploadRecord? {
        let rows = try store.uploads(states: [], host: nil)
        return rows.count == 1 ? rows.first : nil
    }

    var rescueFiles: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).filter {
            $0.hasPrefix("rescue-")
        }
    }
}
