import ArgumentParser
import Glibc
import Sandbox

@main
enum Main {
    static func main() async {
        // ArgumentParser 1.8 traps on `--help` in a terminal narrower than 27 columns.
        if let columns = getenv("COLUMNS"), atoi(columns) < 40 { setenv("COLUMNS", "80", 1) }
        await SandboxCommand.main()
    }
}
