import FoundationEssentials

/// A directory for LMDB's files, in memory if the system supports that; deleted with its world.
final class ScratchDirectory {
    let path: String
    private var saved: [UInt8]?

    init() throws {
        let files = FileManager.default
        let base =
            files.isWritableFile(atPath: "/dev/shm")
            ? "/dev/shm" : files.temporaryDirectory.path
        path = base + "/tandem-world-\(UUID().uuidString)"
        try files.createDirectory(atPath: path + "/store", withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func make(_ name: String) throws -> String {
        remove(name)
        try FileManager.default.createDirectory(
            atPath: path + "/" + name, withIntermediateDirectories: true)
        return path + "/" + name
    }

    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: path + "/" + name) }

    // MARK: The store's file, while no process has it open

    private var file: String { path + "/store/data.mdb" }

    var storeBytes: [UInt8]? { FileManager.default.contents(atPath: file).map { Array($0) } }

    func replaceStore(with bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: file))
    }

    func saveStore() { saved = storeBytes }

    func restoreStore() throws {
        guard let saved else { return }
        try replaceStore(with: saved)
    }
}
