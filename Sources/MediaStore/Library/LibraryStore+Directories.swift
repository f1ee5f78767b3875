import Foundation
import GRDB

extension LibraryStore {
    /// Whether a file below a directory (absolute path, as bytes) is a copy of one of the server's photos.
    public func hasCopies(below directory: [UInt8], server: String) throws(StoreError) -> Bool {
        let root = directory.last == UInt8(ascii: "/") ? Array(directory.dropLast()) : directory
        // "/" is followed by "0".
        let (first, end) = (Data(root + [UInt8(ascii: "/")]), Data(root + [UInt8(ascii: "0")]))
        return try connection.readBeside { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM photo_copies WHERE server = ? AND path >= ? AND path < ?)",
                arguments: [server, first, end]
            ) ?? false
        }
    }
}
