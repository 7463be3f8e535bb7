import Foundation
import Tandem
import TandemIO
import TandemStore
import TestSupport
import Testing

/// Restored backups of `tandem backup`, and `tandem verify` of stores, backups and restored stores.
@Suite(.ownThread) struct BackupMaintenanceTests {
    let place: Place
    private let files = RealFileSystem()
    private var backup: String { place.path + "/backup" }
    private var restored: String { place.path + "/restored" }

    init() throws { place = try Place() }

    /// A stopped store with segments of two pages each.
    @MainActor private func fill() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test @MainActor func `a restored store is intact before and after its daemon's first start`()
        throws
    {
        try fill()
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        expect(try runTandem("restore", backup, "--store", restored), 0)
        expect(try runTandem("verify", "-D", restored), 0, "no problems")
        let daemon = try place.serve(restored)
        #expect(daemon.end(SIGTERM) == 0)
        expect(try runTandem("verify", "-D", restored), 0, "no problems")
    }

    @Test @MainActor func `no daemon serves a backup`() throws {
        try fill()
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        let run = try CommandRun("tandemd", ["--store", backup, "--socket", place.socket])
        expect(run, 78, "\(backup) is a backup", "tandem restore")
        expect(try runTandem("verify", backup), 0, "no problems")
    }

    @Test @MainActor func `a backup is refused if anything that it copies is damaged`() throws {
        try fill()
        // In the first transaction of the copied segment, which the store has applied.
        let last = try #require(try segments(of: place.store).last)
        try flip(last, at: 4_096 + 200)
        expect(
            try runTandem("backup", backup, "-D", place.store), 1, "the journal is damaged: \(last)"
        )
        #expect(!files.exists(backup) && !files.exists(backup + ".unfinished"))
    }

    @Test @MainActor func `a backup is refused if the journal ends before the store's position`()
        throws
    {
        try fill()
        try files.remove(try #require(try segments(of: place.store).last))
        expect(
            try runTandem("backup", backup, "-D", place.store), 1, "transactions are missing")
        #expect(!files.exists(backup))
        try files.removeTree(place.store + "/journal")
        expect(try runTandem("backup", backup, "-D", place.store), 1, "there is no journal in")
    }

    @Test @MainActor func `a backup is verified without being restored`() throws {
        try fill()
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        let before = try files.list(backup + "/store")
        expect(try runTandem("verify", backup), 0, "store: at position 11", "no problems")
        #expect(try files.list(backup + "/store") == before)
        let names = try files.list(backup + "/journal").map { "\(backup)/journal/\($0)" }
        for path in names + [backup + "/store/data.mdb"] {
            try flip(path, at: 5_000)
            expect(try runTandem("verify", backup), 1, path)
            try flip(path, at: 5_000)
        }
        expect(try runTandem("verify", backup), 0, "no problems")
        expect(try runTandem("verify", place.store), 1, "there is no backup in", "verify -D")
        let none = place.path + "/none"
        expect(try runTandem("verify", none), 1, "there is no directory \(none)")
        expect(
            try runTandem("restore", none, "--store", restored), 1, "there is no directory \(none)")
        expect(try runTandem("verify", backup, "-D", place.store), 2, "cannot be combined")
    }

    @Test @MainActor func `backup and restore create no parents and remove no foreign files`()
        throws
    {
        try fill()
        let deep = place.path + "/none/deep"
        expect(try runTandem("backup", deep, "-D", place.store), 1, "there is no directory")
        #expect(!files.exists(place.path + "/none"))
        try files.createDirectory(backup + ".unfinished/photos", mode: 0o700)
        expect(try runTandem("backup", backup, "-D", place.store), 1, "has other files")
        #expect(files.exists(backup + ".unfinished/photos"))
        try files.removeTree(backup + ".unfinished")
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        expect(try runTandem("restore", backup, "--store", deep), 1, "there is no directory")
        try files.createDirectory(restored + ".restoring/photos", mode: 0o700)
        expect(try runTandem("restore", backup, "--store", restored), 1, "has other files")
        #expect(files.exists(restored + ".restoring/photos") && !files.exists(restored))
    }

    @Test @MainActor func `a damaged directory is salvaged into a store that a daemon serves`()
        throws
    {
        try fill()
        let whole = try runTandem("dump", "-D", place.store).output
        // In the middle of the journal: the store has applied all of it.
        let second = try segments(of: place.store)[1]
        try flip(second, at: 4_096 + 200)
        expect(
            try runTandem("salvage", place.store, "--to", restored), 0,
            "store: read at position 11", "\(second) at offset",
            "the store has these changes, but their history is missing",
            "salvaged \(restored) at position 11")
        #expect(
            try runTandem("dump", "-D", restored).lines.count == whole.split(separator: "\n").count)
        let daemon = try place.serve(restored)
        try place.savePages(1)
        #expect(daemon.end(SIGTERM) == 0)
        expect(try runTandem("verify", "-D", restored), 0, "no problems")
        expect(try runTandem("salvage", place.store, "--to", restored), 1, "exists")
        // Without the store, only the transactions before the damage are left.
        try files.removeTree(place.store + "/store")
        let other = place.path + "/other"
        expect(
            try runTandem("salvage", place.store, "--to", other), 1, "store: not used",
            second, "lost: ", "not everything could be salvaged")
        expect(try runTandem("check", "-D", other), 0, "no faults")
        expect(
            try runTandem("salvage", place.path, "--to", other + "2"), 1, "nothing can be salvaged")
        #expect(try files.list(place.path).allSatisfy { !$0.hasSuffix(".salvaging") })
    }

    @Test @MainActor func `a trailing slash of a target makes no difference`() throws {
        try fill()
        expect(try runTandem("backup", backup + "/", "-D", place.store), 0)
        expect(try runTandem("restore", backup, "--store", restored + "//"), 0)
        let other = place.path + "/other"
        expect(try runTandem("salvage", restored, "--to", other + "/"), 0, "salvaged \(other) at")
        #expect(
            try files.list(place.path).filter { !$0.hasPrefix("socket") }
                == ["backup", "other", "restored", "store"])
        let inside = place.store + "/inside"
        expect(try runTandem("salvage", place.store, "--to", inside), 2, "is inside ")
        #expect(!files.exists(inside))
    }

    @Test @MainActor func `a truncated store is salvaged from its journal`() throws {
        try fill()
        try CommandRun(shell: "truncate -s 30000 '\(place.store)/store/data.mdb'").check()
        // The remains of an attempt that was killed.
        try files.createDirectory(restored + ".salvaging/copy", mode: 0o700)
        expect(
            try runTandem("salvage", place.store, "--to", restored), 0,
            "store: not used: ", "is truncated", "journal: applied positions 1 to 11",
            "salvaged \(restored) at position 11")
        expect(try runTandem("check", "-D", restored), 0, "no faults")
        #expect(!files.exists(restored + ".salvaging"))
    }

    @Test @MainActor func `salvage names the lost positions, and suggests no rebuild`() throws {
        try fill()
        let segments = try segments(of: place.store)
        let first = try #require(UInt64(segments[2].suffix(24).prefix(16), radix: 16))
        try flip(segments[2], at: 4_096 + 200)
        try files.removeTree(place.store + "/store")
        let run = try runTandem("salvage", place.store, "--to", restored)
        expect(run, 1, "lost: positions \(first) to 11\n")
        // Without a journal nothing can be rebuilt.
        try CommandRun(
            shell: "rm -r '\(restored)/journal' && truncate -s 5000 '\(restored)/store/data.mdb'"
        ).check()
        let none = try runTandem("salvage", restored, "--to", place.path + "/other")
        expect(none, 1, "nothing can be salvaged")
        #expect(!none.output.contains("tandem rebuild"), "\(none.output)")
    }
}
