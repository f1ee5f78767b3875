import Glibc
import Testing

@testable import MediaStore

/// statvfs(3): blocks of `f_frsize` bytes, `f_bavail` of them free for this user.
@Suite struct FreeSpaceTests {
    @Test(
        arguments: [
            (0, 4096, 0), (3, 4096, 12288), (1 << 52, 4096, .max), (1 << 52 - 1, 4096, UInt64.max - 4095),
            (.max, 1, .max), (.max, .max, .max),
        ] as [(UInt, UInt, UInt64)]
    )
    func freeBytesAreReported(blocks: UInt, size: UInt, bytes: UInt64) {
        var status = statvfs()
        status.f_bavail = blocks
        status.f_frsize = size
        // The space reserved for root is not available to this user.
        status.f_bfree = .max
        #expect(FreeSpace.bytes(status) == bytes)
    }
}
