import GRDB
import MediaSystem

extension FileIdentity {
    /// The identity that five columns hold, in the order of the members; nil when one of them is null.
    init?(_ row: Row, from first: Int) {
        guard let device = row[first] as Int64?, let inode = row[first + 1] as Int64?,
            let size = row[first + 2] as Int64?, let modified = row[first + 3] as Int64?,
            let changed = row[first + 4] as Int64?
        else { return nil }
        self.init(
            device: UInt64(bitPattern: device),
            inode: UInt64(bitPattern: inode),
            size: size,
            modificationNanoseconds: modified,
            changeNanoseconds: changed
        )
    }
}
