import Foundation
import Synchronization
import Testing

@testable import MediaStore

@Suite("Upload lock")
struct UploadLockTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private var directory: DataDirectory { fixture.directory }

    @Test("a lock has one owner in a process; the next one gets it after the release")
    func oneOwner() throws {
        let lock = try #require(try UploadLock.acquire("u-1", in: directory))
        #expect(try UploadLock.acquire("u-1", in: directory) == nil)
        let other = try UploadLock.acquire("u-2", in: directory)
        #expect(other != nil)
        lock.release()
        let next = try UploadLock.acquire("u-1", in: directory)
        #expect(next != nil)
        // A second release must not release the lock of the next owner.
        lock.release()
        #expect(try UploadLock.acquire("u-1", in: directory) == nil)
        withExtendedLifetime((other, next)) {}
    }

    @Test("all locks together use one file, which is readable only by its owner")
    func oneFile() throws {
        let locks = try ["u-1", "u-2", "f-1-2-3"].map { try #require(try UploadLock.acquire($0, in: directory)) }
        let path = directory.file("locks")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["uploads.lock"])
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "/uploads.lock")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == 0)
        withExtendedLifetime(locks) {}
    }

    @Test("all locks of a process use one descriptor, which is closed with the last one")
    func oneDescriptor() throws {
        let first = try #require(try UploadLock.acquire("u-1", in: directory))
        let second = try #require(try UploadLock.acquire("u-2", in: directory))
        #expect(descriptorCount(of: directory) == 1)
        first.release()
        // Only its own byte is free: no descriptor was closed, which would have released the other lock as well.
        let other = try WorkerProcess(["lock", directory.path, "u-1"])
        #expect(try other.line() == "locked")
        let third = try WorkerProcess(["lock", directory.path, "u-2"])
        #expect(try third.line() == "taken")
        withExtendedLifetime((first, second)) {}
    }

    @Test("the lock is released with its object, and the descriptor does not stay open without a lock")
    func endsWithObject() throws {
        for _ in 0..<2 {
            #expect(try UploadLock.acquire("u-1", in: directory) != nil)
            #expect(descriptorCount(of: directory) == 0)
        }
    }

    private func descriptorCount(of directory: DataDirectory) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target == directory.lockFile("uploads")
        }
    }

    @Test("a lock held by another process lasts until that process exits, for whatever reason")
    func otherProcess() throws {
        let owner = try WorkerProcess(["lock", directory.path, "u-1"])
        #expect(try owner.line() == "locked")
        #expect(try UploadLock.acquire("u-1", in: directory) == nil)
        let second = try WorkerProcess(["lock", directory.path, "u-1"])
        #expect(try second.line() == "taken")
        owner.killNow()
        let lock = try UploadLock.acquire("u-1", in: directory)
        #expect(lock != nil)
        lock?.release()
    }

    @Test("there are never two owners, however often the lock changes owners")
    func neverTwoOwners() throws {
        let owners = Atomic(0)
        let overlaps = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<2000 {
                guard let lock = try? UploadLock.acquire("u-1", in: directory) else { continue }
                if owners.add(1, ordering: .sequentiallyConsistent).oldValue != 0 {
                    overlaps.add(1, ordering: .sequentiallyConsistent)
                }
                sched_yield()
                owners.subtract(1, ordering: .sequentiallyConsistent)
                lock.release()
            }
        }
        #expect(overlaps.load(ordering: .sequentiallyConsistent) == 0)
    }
}
