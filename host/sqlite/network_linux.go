package sqlite

import "golang.org/x/sys/unix"

// networks are the types of file systems on which processes do not see what others have locked, or
// mapped into memory: see statfs(2).
var networks = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CIFS_SUPER_MAGIC: "SMB",
	unix.AFS_SUPER_MAGIC:  "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
	unix.V9FS_MAGIC:       "9P",
}

// networkOf returns which network file system a folder is on, "" if it is on another one.
func networkOf(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", err
	}
	return networks[uint32(st.Type)], nil
}
